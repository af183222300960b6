// Contenders that are processes of their own must not write one version twice: a record that changed would look as if
// it had not.
#include "contract/store_calls.hpp"

#include <array>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "lockcore/child_process.hpp"

namespace tenure::contract {
namespace {

int lastDigit(const std::string& text) { return text.back() - '0'; }

TEST(ContractVersions, aForkedChildDrawsOthers) {
  const std::string before = newVersion().text();
  // Both count on from the same number, so only the rest of the text can differ.
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const int digit = test::inChild([&] {
    const std::string drawn = newVersion().text();
    return write(ends[1], drawn.data(), drawn.size()) == static_cast<ssize_t>(drawn.size()) ? lastDigit(drawn) : -1;
  });
  const std::string here = newVersion().text();
  ASSERT_EQ(digit, lastDigit(here));
  std::string there(here.size(), ' ');
  ASSERT_EQ(read(ends[0], there.data(), there.size()), static_cast<ssize_t>(there.size()));
  for (const int end : ends) close(end);
  EXPECT_NE(here, there);
  EXPECT_NE(here, before);
}

}  // namespace
}  // namespace tenure::contract
