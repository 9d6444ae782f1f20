"""circlet: sweeps of tiny networks that learn modular addition, from training to a scorecard."""
