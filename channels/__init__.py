"""Channel adapters, and the delivery that serves them all."""
