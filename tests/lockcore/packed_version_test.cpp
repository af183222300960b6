#include "lockcore/lease/packed_version.hpp"

#include <gtest/gtest.h>

#include <tenure/lockcore/runtime.hpp>

#include "lockcore/port/random_draws.hpp"
#include "support/seeded_random.hpp"

namespace tenure::test {
namespace {

std::optional<PackedVersion> packedText(const char* text) { return packed(RecordVersion{text}); }

TEST(PackedVersion, hasEveryBitOfTheUuid) {
  const PackedVersion expected{0x0123456789abcdefULL, 0x0f1e2d3c4b5a6978ULL};
  EXPECT_EQ(packedText("01234567-89ab-cdef-0f1e-2d3c4b5a6978"), expected);
}

TEST(PackedVersion, isThereForWhatWeWriteAndDiffersWithIt) {
  SeededRandom random{3};
  const RecordVersion one{uuid4(random)};
  const RecordVersion other{uuid4(random)};
  ASSERT_TRUE(packed(one));
  EXPECT_EQ(packed(one), packed(one));
  EXPECT_NE(packed(one), packed(other));
}

TEST(PackedVersion, isNotThereForWhatOthersWrite) {
  EXPECT_FALSE(packedText(""));
  EXPECT_FALSE(packedText("17"));
  EXPECT_FALSE(packedText("01234567-89ab-cdef-0f1e-2d3c4b5a697"));
  EXPECT_FALSE(packedText("01234567-89ab-cdef-0f1e-2d3c4b5a69780"));
  EXPECT_FALSE(packedText("01234567-89AB-CDEF-0F1E-2D3C4B5A6978"));
  EXPECT_FALSE(packedText("01234567-89ab-cdef-0f1e-2d3c4b5a697g"));
  EXPECT_FALSE(packedText("00000000-0000-0000-0000-000000000000"));
}

}  // namespace
}  // namespace tenure::test
