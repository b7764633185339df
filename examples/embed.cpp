// The two most similar of some texts.
//
//   embed_cpp [MODEL [TEXT...]]     MODEL is a name, a directory or an .onnx file; without one, nothing has to be there
#include <cstdio>
#include <narthex/narthex.hpp>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "hashing-ngram-256";
  std::vector<std::string> texts(argv + (argc > 2 ? 2 : argc), argv + argc);
  if (texts.size() < 2) {
    texts = {"How do I reset my password?", "The invoice is attached as a PDF.", "I forgot my password.",
             "Our office is closed on Sundays."};
  }

  const narthex::Result<narthex::Model> model = narthex::Model::load(name);
  if (!model) {
    std::fprintf(stderr, "embed_cpp: %s\n", model.error().message.c_str());
    return 1;
  }
  const narthex::Result<narthex::Embeddings> vectors = model->embed_all(texts);
  if (!vectors) {
    std::fprintf(stderr, "embed_cpp: %s\n", vectors.error().message.c_str());
    return 1;
  }

  std::size_t first = 0;
  std::size_t second = 1;
  float best = -2;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (std::size_t j = i + 1; j < texts.size(); ++j) {
      const float similarity = narthex::cosine_similarity(vectors->row(i), vectors->row(j), vectors->dim);
      if (similarity <= best) continue;
      best = similarity;
      first = i;
      second = j;
    }
  }
  std::printf("%s, %zu dimensions%s\n", model->info().id.c_str(), vectors->dim,
              model->info().semantic ? "" : ", compares spelling only");
  std::printf("%.3f  %s  |  %s\n", static_cast<double>(best), texts[first].c_str(), texts[second].c_str());
  return 0;
}
