// The error value that everything which reads input returns.
//
// A message is a whole sentence for the person who must act: it names the file, node, field or request part, what was
// expected, what was found and, where it helps, what to do. Codes decide exit codes and HTTP statuses; see cli/ and
// server/.
#pragma once

#include <string>
#include <utility>

namespace narthex {

enum class ErrorCode {
  kUsage,        // the caller asked for something that makes no sense: wrong option, unknown name in a configuration
  kNotFound,     // a file, a model or a name that does not exist
  kBadInput,     // text, JSON or a request that is malformed
  kBadModel,     // a model file that is corrupt, or breaks its own format
  kUnsupported,  // well-formed, but Narthex cannot do it
  kLimit,        // larger than a stated cap
  kIo,           // the file system or the network failed
  kCancelled,    // interrupted by the user or by a client that left
};

struct Error {
  ErrorCode code;
  std::string message;
};

}  // namespace narthex
