// Excerpt of FlashInfer 0.6.2 (flashinfer/data/csrc/trtllm_moe_allreduce_fusion.cu), shortened as an example for archscan; what is kept is unchanged.
#include <string>

#include "flashinfer/comm/trtllm_moe_allreduce_fusion.cuh"
#include "tvm_ffi_utils.h"

using namespace flashinfer::trtllm_moe_allreduce_fusion;

using tvm::ffi::Optional;

// ...

TVM_FFI_DLL_EXPORT_TYPED_FUNC(trtllm_moe_allreduce_fusion, trtllm_moe_allreduce_fusion);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(trtllm_moe_finalize_allreduce_fusion,
                              trtllm_moe_finalize_allreduce_fusion);
