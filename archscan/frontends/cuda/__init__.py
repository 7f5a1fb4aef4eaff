"""The CUDA and C++ front end: `#if` conditionals, target macros, host code, and kernels inside other files."""
