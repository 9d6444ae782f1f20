"""circlet: sweeps of tiny networks that learn modular addition, from training to a scorecard."""

__version__ = "0.2.0"
