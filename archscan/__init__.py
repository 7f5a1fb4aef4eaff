"""archscan finds the architecture gates in CUDA and Python code and says what they do to one GPU."""

__version__ = "0.1.0"
