"""Tables of any study, whatever its systems: a collection like the others."""
