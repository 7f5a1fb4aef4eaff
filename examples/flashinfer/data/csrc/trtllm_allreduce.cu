// Excerpt of FlashInfer 0.6.2 (flashinfer/data/csrc/trtllm_allreduce.cu), shortened as an example for archscan; what is kept is unchanged.
/*
 * Copyright (c) 2022-2024, NVIDIA CORPORATION.  All rights reserved.
 *
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *     http://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */
#include <cstdint>
#include <string>

#include "flashinfer/comm/trtllm_allreduce.cuh"
#include "tvm_ffi_utils.h"

using namespace flashinfer::trtllm_allreduce;
using tvm::ffi::Optional;

