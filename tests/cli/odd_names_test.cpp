// Names that look alike are two locks: they are refused where they enter, and shown escaped where they are.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/group_fixture.hpp"
#include "cli/text/exit_codes.hpp"

namespace tenure::test {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Nothing that a terminal obeys, and nothing that people do not see.
bool isHarmless(const std::string& text) {
  for (const char* odd : {"\xE2\x80\x8B", "\xE2\x80\xAE", "\xC2\x9B", "\xC2\xA0", "\x1B", "\xE2\x81\xA6"}) {
    if (has(text, odd)) return false;
  }
  return true;
}

class OddNamesTest : public GroupFixture {
 protected:
  /// A record of an earlier release or of another program, released.
  void stored(const std::string& name, const std::string& holder) const {
    sql("INSERT INTO tenure_lease(name, state, holder, token, lease_ms, record_version, data, attributes) VALUES(" +
        name + ", 'released', " + holder + ", 1, 1000, 'v1', CAST('d' || char(0x9B) || '2J' AS BLOB), " +
        "json_object('k' || char(0x202E), 'v' || char(0x200B)))");
  }
};

TEST_F(OddNamesTest, AreRefusedOnTheCommandLineWithTheirCharacterAndPlace) {
  const std::vector<std::vector<std::string>> all{
      {"lock", "acquire", "billing\xE2\x80\x8B", "--path", database()},
      {"lock", "acquire", "billing", "--owner",
       "a\xC2\xA0"
       "b",
       "--path", database()},
      {"lock", "hold",
       "\xE2\x80\x9C"
       "billing\xE2\x80\x9D",
       "--path", database(), "--", "true"},
      {"lock", "acquire", "cafe\xCC\x81", "--path", database()},
  };
  const std::vector<std::string> says{"U+200B ZERO WIDTH SPACE as character 8", "U+00A0 NO-BREAK SPACE as character 2",
                                      "U+201C LEFT DOUBLE QUOTATION MARK as character 1", "from character 4 on"};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Finished refused = finish(all[i]);
    EXPECT_NE(refused.code, cli::exitOk);
    EXPECT_TRUE(has(refused.errors, says[i])) << refused.errors;
    EXPECT_TRUE(isHarmless(refused.errors + refused.output)) << refused.errors;
  }
}

TEST_F(OddNamesTest, AReasonOfAPauseIsRefusedToo) {
  configure();
  const Finished refused = finish({"pause", "--config", config(), "--for", "1m", "--why", "x\xE2\x80\xAEy"});
  EXPECT_EQ(refused.code, cli::exitUsage);
  EXPECT_TRUE(has(refused.errors, "U+202E RIGHT-TO-LEFT OVERRIDE")) << refused.errors;
}

TEST_F(OddNamesTest, ThatAreThereAreShownEscapedAndCanBeRemoved) {
  configure();
  ASSERT_EQ(finish({"run", "--config", config(), "--once", "--", "true"}).code, cli::exitOk);
  stored("'odd' || char(0x200B)", "'h' || char(0x9B) || '31m#1'");
  const std::vector<std::vector<std::string>> all{{"lock", "list", "odd", "--config", config()},
                                                  {"lock", "show", "odd\xE2\x80\x8B", "--config", config()},
                                                  {"lock", "list", "odd", "--json", "--config", config()},
                                                  {"lock", "show", "odd\xE2\x80\x8B", "--json", "--config", config()}};
  for (const std::vector<std::string>& words : all) {
    const Finished shown = finish(words);
    EXPECT_TRUE(has(shown.output, "odd\\u200b")) << shown.output << shown.errors;
    EXPECT_TRUE(isHarmless(shown.output + shown.errors)) << shown.output;
  }
  const Finished pruned = finish({"lock", "prune", "odd", "--yes", "--config", config()});
  EXPECT_TRUE(has(pruned.output, "removed odd\\u200b (released)")) << pruned.output << pruned.errors;
  EXPECT_FALSE(has(finish({"lock", "list", "--config", config()}).output, "odd"));
}

TEST_F(OddNamesTest, AForeignHolderAndAForeignPauseAreShownEscaped) {
  configure();
  ASSERT_EQ(finish({"run", "--config", config(), "--once", "--", "true"}).code, cli::exitOk);
  for (const char* holder : {"'h' || char(0x202E) || char(0x9B) || '2J#1'",
                             "'paused by a' || char(0x9B) || '@b: why' || char(0x202E, 0x1B) || '[2J#1'"}) {
    sql("UPDATE tenure_lease SET state = 'held', data = NULL, holder = " + std::string{holder});
    for (const std::vector<std::string>& words : {std::vector<std::string>{"status", config()},
                                                  {"resign", "--config", config()},
                                                  {"status", config(), "--json"}}) {
      const Finished shown = finish(words);
      EXPECT_TRUE(isHarmless(shown.output + shown.errors)) << shown.output << shown.errors;
    }
  }
}

}  // namespace
}  // namespace tenure::test
