// A PackedPlan as bytes: slots and steps field by field, constants by their number in the artifact's directory.
//
//   encode_plan(plan, constants)   collects the constants, equal ones once
//   decode_plan(bytes, constants)  regions are assigned anew rather than read; validate() must follow
//
// Covered by tests/artifact/round_trip_test.cc.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "plan/packed.h"

namespace narthex::artifact {

// The constants of a plan in the order in which they are numbered.
class ConstantPool {
 public:
  struct Entry {
    Constant constant;
    std::uint64_t checksum;
    bool table;  // to lie among the embedding tables
  };
  std::uint32_t number_of(const Constant& constant, bool table);
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_checksum_;
};

std::string encode_plan(const PackedPlan& plan, ConstantPool& constants);
// kBadModel names no file.
Result<PackedPlan> decode_plan(std::span<const std::byte> bytes, std::span<const Constant> constants);

}  // namespace narthex::artifact
