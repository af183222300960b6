// Lines do not depend on the pieces in which they come, and no more than one is kept.
#include "lockcore/net/line_splitter.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace tenure::test {
namespace {

using net::LineSplitter;

TEST(LineSplitter, linesDoNotDependOnThePieces) {
  const std::string text = "one\n\r\n\ntwo\r\nthree\rstill\nrest";
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    LineSplitter splitter{11};
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      ASSERT_EQ(splitter.feed(std::string_view{text}.substr(at, piece),
                              [&](std::string_view line) {
                                lines.emplace_back(line);
                                return true;
                              }),
                LineSplitter::State::more);
    }
    EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "three\rstill"})) << piece;
    EXPECT_EQ(splitter.rest(), "rest");
  }
}

TEST(LineSplitter, aLineMayHaveItsLongestLengthAndNoByteMore) {
  for (const std::size_t piece : {1U, 3U, 100U}) {
    for (const std::size_t length : {10U, 11U}) {
      LineSplitter splitter{10};
      const std::string text(length, 'x');
      auto state = LineSplitter::State::more;
      for (std::size_t at = 0; at < length && state == LineSplitter::State::more; at += piece) {
        state = splitter.feed(std::string_view{text}.substr(at, piece), [](std::string_view) { return true; });
      }
      EXPECT_EQ(state == LineSplitter::State::tooLong, length == 11) << piece;
      EXPECT_LE(splitter.rest().size(), 10U);
    }
  }
}

TEST(LineSplitter, stopsAtOnce) {
  LineSplitter splitter{10};
  int lines = 0;
  EXPECT_EQ(splitter.feed("a\nb\nc\n",
                          [&](std::string_view) {
                            ++lines;
                            return lines < 2;
                          }),
            LineSplitter::State::stopped);
  EXPECT_EQ(lines, 2);
}

}  // namespace
}  // namespace tenure::test
