// Activations by their name, for the ends of products. Included by isa/*.cc only.
#pragma once

NX_INLINE Vec16f activate(Activation kind, Vec16f x) {
  switch (kind) {
    case Activation::kNone:
      return x;
    case Activation::kRelu:
      return relu16(x);
    case Activation::kGeluErf:
      return gelu_erf16(x);
    case Activation::kGeluTanh:
      return gelu_tanh16(x);
    case Activation::kTanh:
      return tanh16(x);
    case Activation::kSigmoid:
      return sigmoid16(x);
    case Activation::kSilu:
      return silu16(x);
  }
  return x;
}
