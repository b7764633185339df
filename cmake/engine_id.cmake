# Writes OUTPUT, a header with a digest of everything that decides what a compiled model looks like: the sources of the
# layers below. Run as a script by cmake/artifact.cmake.
file(GLOB_RECURSE sources LIST_DIRECTORIES false RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/*)
list(SORT sources)
set(digests "")
foreach(source ${sources})
  if(source MATCHES "^(base|text|kernels|onnx|graph|ops|passes|plan|artifact|models)/.*\\.(cc|h|def)$")
    file(SHA256 ${SOURCE_DIR}/${source} digest)
    string(APPEND digests "${source} ${digest}\n")
  endif()
endforeach()
string(SHA256 engine "${digests}")
file(WRITE ${OUTPUT} "#pragma once\n#include <string_view>\n\nnamespace narthex {\n"
  "inline constexpr std::string_view kEngineId = \"${engine}\";\n}  // namespace narthex\n")
