// That a run under the hostile locale is one (scripts/test --all), and any other run is none.
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <locale>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace {

TEST(HostileLocale, isThatOfTheProcessWhereItIsPreloaded) {
  const char* preloaded = std::getenv("LD_PRELOAD");
  const bool hostile = preloaded != nullptr && std::strstr(preloaded, "hostile_locale") != nullptr;
  std::ostringstream number;
  number << 1234.5;
  EXPECT_EQ(number.str(), hostile ? "1.234,5" : "1234.5");
  EXPECT_EQ(std::to_string(0.5), hostile ? "0,500000" : "0.500000");
  EXPECT_EQ(std::tolower('I') == 'i', !hostile);
  EXPECT_EQ(std::tolower('I', std::locale{}) == 'i', !hostile);
  std::tm sunday{};
  char day[16];
  EXPECT_EQ(std::string(day, std::strftime(day, sizeof day, "%a", &sunday)), hostile ? "So" : "Sun");
  EXPECT_EQ(std::getenv("LOCPATH"), nullptr);
}

}  // namespace
