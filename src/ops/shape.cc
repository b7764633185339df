#include "ops/ops.h"

namespace narthex {

std::span<const OpDef> shape_ops() {
  return {};
}

}  // namespace narthex
