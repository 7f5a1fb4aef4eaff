from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(
    name="rays",
    ext_modules=[
        CUDAExtension(
            "rays._march",
            ["csrc/march.cu"],
            extra_compile_args={"nvcc": ["-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=compute_90"]},
        ),
        CUDAExtension("rays._gather", ["csrc/gather.cu"]),
    ],
    cmdclass={"build_ext": BuildExtension},
)
