"""What `benches/cuda/run` is made of."""
