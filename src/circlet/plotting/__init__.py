"""Style and panels that figures share, and the function that writes figures."""
