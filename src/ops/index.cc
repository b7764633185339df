#include "ops/ops.h"

namespace narthex {

std::span<const OpDef> index_ops() {
  return {};
}

}  // namespace narthex
