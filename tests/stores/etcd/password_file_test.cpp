// The file with the user's password: what is taken from it, and which files are refused.
#include <fstream>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "lockcore/runtime/regular_file.hpp"
#include "support/temp_dir.hpp"

namespace tenure::etcd_store {
namespace {

class EtcdPasswordFile : public testing::Test {
 protected:
  void write(const std::string& text) const { std::ofstream{file_} << text; }
  void expectRefused(const std::string& why) const {
    const auto password = passwordIn(file_);
    ASSERT_TRUE(password.has_error());
    EXPECT_EQ(password.error().errorClass, ErrorClass::credentials);
    EXPECT_EQ(password.error().message, "the password file " + file_ + " " + why);
  }
  const test::TempDir directory_{};
  const std::string file_ = directory_.file("password");
};

TEST_F(EtcdPasswordFile, hasThePasswordInItsFirstLine) {
  for (const std::string text : {"sesame", "sesame\n", "sesame\r\n", "sesame\nand more\n"}) {
    write(text);
    EXPECT_EQ(passwordIn(file_).value(), "sesame");
  }
}

TEST_F(EtcdPasswordFile, isRefusedWithoutAPassword) {
  expectRefused("cannot be read: No such file or directory");
  write("\nsesame\n");
  expectRefused("has no password in its first line");
  write(std::string(65'537, 'x'));
  expectRefused("is longer than 64 KiB");
}

/// Nobody writes into the pipe, so who opens it in the usual way waits for ever.
TEST_F(EtcdPasswordFile, isNotWaitedForWhereItIsAPipe) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  expectRefused("is not a regular file");
}

}  // namespace
}  // namespace tenure::etcd_store
