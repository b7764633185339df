#include "text/fast_path.h"

namespace narthex {
namespace {

using MakeFastPath = FastPath (*)(const Normalizer&, const PreTokenizer&, const Model&);

constexpr MakeFastPath kFastPaths[] = {
    make_bert_fast_path,
};

}  // namespace

FastPath choose_fast_path(const Normalizer& normalizer, const PreTokenizer& pre_tokenizer, const Model& model) {
  for (const MakeFastPath make : kFastPaths) {
    if (FastPath path = make(normalizer, pre_tokenizer, model); path.read) return path;
  }
  return {};
}

}  // namespace narthex
