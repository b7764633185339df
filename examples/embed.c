/* The two most similar of some texts, in C.
 *
 *   embed_c [MODEL [TEXT...]]     MODEL is a name, a directory or an .onnx file; without one, nothing has to be there
 */
#include <narthex/narthex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* const kTexts[] = {"How do I reset my password?", "The invoice is attached as a PDF.",
                                     "I forgot my password.", "Our office is closed on Sundays."};

static narthex_text text_of(const char* string) {
  narthex_text text;
  text.data = string;
  text.size = strlen(string);
  return text;
}

static void print_most_similar(const narthex_text* texts, const float* vectors, size_t n, size_t dim) {
  size_t i, j, first = 0, second = 1;
  float best = -2;
  for (i = 0; i < n; i++) {
    for (j = i + 1; j < n; j++) {
      const float similarity = narthex_cosine_similarity(vectors + i * dim, vectors + j * dim, dim);
      if (similarity <= best) continue;
      best = similarity;
      first = i;
      second = j;
    }
  }
  printf("%.3f  %s  |  %s\n", (double)best, texts[first].data, texts[second].data);
}

int main(int argc, char** argv) {
  const char* const* given = argc > 3 ? (const char* const*)argv + 2 : kTexts;
  const size_t n = argc > 3 ? (size_t)argc - 2 : sizeof kTexts / sizeof kTexts[0];
  narthex_load_options options = NARTHEX_LOAD_OPTIONS_INIT;
  narthex_model_info info = NARTHEX_MODEL_INFO_INIT;
  narthex_embed_output out = NARTHEX_EMBED_OUTPUT_INIT;
  narthex_model* model = NULL;
  narthex_text* texts = malloc(n * sizeof *texts);
  narthex_error error;
  int failed = 1;
  size_t i;

  options.model = text_of(argc > 1 ? argv[1] : "hashing-ngram-256");
  if (texts == NULL) return 1;
  for (i = 0; i < n; i++) texts[i] = text_of(given[i]);

  if (narthex_model_load(&options, &model, &error) != NARTHEX_OK) goto end;
  if (narthex_model_get_info(model, &info, &error) != NARTHEX_OK) goto end;
  out.capacity = n * info.dim;
  out.vectors = malloc(out.capacity * sizeof *out.vectors);
  if (out.vectors == NULL) goto end;
  if (narthex_embed(model, texts, n, NULL, &out, &error) != NARTHEX_OK) goto end;

  printf("%s, %zu dimensions%s\n", info.id.data, info.dim, info.semantic ? "" : ", compares spelling only");
  print_most_similar(texts, out.vectors, n, info.dim);
  failed = 0;

end:
  if (failed) fprintf(stderr, "embed_c: %s\n", error.message[0] != '\0' ? error.message : "out of memory");
  free(out.vectors);
  free(texts);
  narthex_model_free(model);
  return failed;
}
