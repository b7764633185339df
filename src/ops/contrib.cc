#include "ops/ops.h"

namespace narthex {

std::span<const OpDef> contrib_ops() {
  return {};
}

}  // namespace narthex
