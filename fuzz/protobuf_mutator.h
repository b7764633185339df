// Mutates protobuf messages as trees, so that the result still parses: libFuzzer's own mutations of bytes nearly always
// break a length on the way down.
//
//   mutate_protobuf(data, size, max_size, seed)   what LLVMFuzzerCustomMutator should return; 0 when nothing was done
//
// Knows no schema: a length-delimited field whose bytes parse as a message counts as one. Numbers become small or
// extreme ones, fields are doubled, dropped or exchanged with others of the message.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace narthex::fuzzing {

struct Field {
  std::uint64_t tag = 0;        // number and wire type
  std::uint64_t number = 0;     // wire type 0
  std::string bytes;            // wire types 1, 2 and 5
  std::vector<Field> children;  // of wire type 2, when the bytes are a message
};

inline std::optional<std::uint64_t> read_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

inline void write_varint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

inline std::optional<std::vector<Field>> parse(std::string_view bytes, int depth) {
  std::vector<Field> fields;
  while (!bytes.empty()) {
    Field field;
    const auto tag = read_varint(bytes);
    if (!tag || *tag >> 3 == 0 || *tag >> 3 > 64) return std::nullopt;
    field.tag = *tag;
    std::uint64_t length = 0;
    switch (*tag & 7) {
      case 0: {
        const auto number = read_varint(bytes);
        if (!number) return std::nullopt;
        field.number = *number;
        break;
      }
      case 1:
        length = 8;
        break;
      case 5:
        length = 4;
        break;
      case 2: {
        const auto given = read_varint(bytes);
        if (!given) return std::nullopt;
        length = *given;
        break;
      }
      default:
        return std::nullopt;
    }
    if (length > bytes.size()) return std::nullopt;
    field.bytes = bytes.substr(0, length);
    bytes.remove_prefix(length);
    if ((*tag & 7) == 2 && length > 1 && depth < 12) {
      if (auto inner = parse(field.bytes, depth + 1)) field.children = *std::move(inner);
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

inline std::string write(const std::vector<Field>& fields) {
  std::string out;
  for (const Field& field : fields) {
    write_varint(field.tag, out);
    if ((field.tag & 7) == 0) {
      write_varint(field.number, out);
      continue;
    }
    const std::string inner = field.children.empty() ? field.bytes : write(field.children);
    if ((field.tag & 7) == 2) write_varint(inner.size(), out);
    out += inner;
  }
  return out;
}

// Every field with the list that holds it.
inline void collect(std::vector<Field>& list, std::vector<std::pair<std::vector<Field>*, std::size_t>>& all) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    all.emplace_back(&list, i);
    collect(list[i].children, all);
  }
}

inline std::int64_t telling_number(std::minstd_rand& random) {
  constexpr std::array<std::int64_t, 22> kNumbers{0,
                                                  1,
                                                  2,
                                                  3,
                                                  4,
                                                  5,
                                                  7,
                                                  8,
                                                  16,
                                                  -1,
                                                  -2,
                                                  -3,
                                                  64,
                                                  65536,
                                                  2147483647,
                                                  -2147483648LL,
                                                  2147483648LL,
                                                  4294967296LL,
                                                  INT64_MAX,
                                                  INT64_MIN,
                                                  INT64_MAX / 2,
                                                  INT64_MIN + 1};
  return kNumbers[random() % kNumbers.size()];
}

inline void mutate_bytes(std::string& bytes, std::minstd_rand& random) {
  if (bytes.size() >= 8 && random() % 3 == 0) {  // raw 64-bit contents: axes, indices, shapes
    const std::int64_t number = telling_number(random);
    std::memcpy(bytes.data() + random() % (bytes.size() / 8) * 8, &number, 8);
  } else if (bytes.size() >= 4 && random() % 3 == 0) {
    constexpr std::array<std::uint32_t, 8> kFloats{0x7f800000, 0xff800000, 0x7fc00000, 0x80000000,
                                                   0x7f7fffff, 1,          0x4f000000, 0xcf000000};
    std::memcpy(bytes.data() + random() % (bytes.size() / 4) * 4, &kFloats[random() % kFloats.size()], 4);
  } else {
    const std::size_t size = bytes.size();
    bytes.resize(size + 16);
    bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), size, size + 16));
  }
}

inline void mutate_once(std::vector<Field>& root, std::minstd_rand& random) {
  std::vector<std::pair<std::vector<Field>*, std::size_t>> all;
  collect(root, all);
  if (all.empty()) return;
  const auto [list, at] = all[random() % all.size()];
  const auto [donor_list, donor_at] = all[random() % all.size()];
  Field& field = (*list)[at];
  const std::uint32_t choice = random() % 16;
  if (choice == 0) {
    list->erase(list->begin() + static_cast<std::ptrdiff_t>(at));
  } else if (choice == 1) {
    Field copy = field;
    list->insert(list->begin() + static_cast<std::ptrdiff_t>(at), std::move(copy));
  } else if (choice < 5) {  // contents of a field of the same wire type: names, types, operators, numbers
    Field donor = (*donor_list)[donor_at];
    if ((donor.tag & 7) == (field.tag & 7) && donor.children.empty() == field.children.empty()) {
      donor.tag = field.tag;
      field = std::move(donor);
    }
  } else if (choice == 5) {
    std::swap((*list)[at], (*list)[random() % list->size()]);
  } else if ((field.tag & 7) == 0) {
    field.number =
        random() % 4 != 0 ? static_cast<std::uint64_t>(telling_number(random)) : field.number + random() % 5 - 2;
  } else if (field.children.empty()) {
    mutate_bytes(field.bytes, random);
    if ((field.tag & 7) != 2) field.bytes.resize((field.tag & 7) == 1 ? 8 : 4);
  }
}

inline std::size_t mutate_protobuf(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  std::minstd_rand random(seed);
  auto root = parse({reinterpret_cast<const char*>(data), size}, 0);
  if (!root) return 0;
  for (std::uint32_t n = 1 + random() % 4; n > 0; --n) mutate_once(*root, random);
  const std::string out = write(*root);
  if (out.empty() || out.size() > max_size) return 0;
  std::memcpy(data, out.data(), out.size());
  return out.size();
}

}  // namespace narthex::fuzzing
