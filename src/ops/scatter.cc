#include "ops/ops.h"

namespace narthex {

std::span<const OpDef> scatter_ops() {
  return {};
}

}  // namespace narthex
