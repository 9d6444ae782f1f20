"""Pages that open by double click: tables and figures in, one HTML file out."""
