import os

from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "8.0;9.0a")

setup(
    name="rowsum",
    packages=["rowsum"],
    ext_modules=[CUDAExtension("rowsum._C", ["csrc/rowsum.cu"])],
    cmdclass={"build_ext": BuildExtension},
)
