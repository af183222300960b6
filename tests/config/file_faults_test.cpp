// Errors that a file can have before its text is read.
#include <chrono>
#include <ctime>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <tenure/config/load_group.hpp>

#include "config/test_files.hpp"
#include "support/slowness.hpp"
#include "support/temp_dir.hpp"

namespace tenure {
namespace {

namespace fs = std::filesystem;

std::string messageOf(const fs::path& file) {
  const auto config = loadGroupConfig(file);
  return config ? "accepted" : toString(config.error());
}

/// Gives up root's right to read everything for as long as it lives; changes nothing for other users.
class Unprivileged {
 public:
  Unprivileged() : user_{::geteuid()} {
    if (user_ == 0 && ::seteuid(65534) != 0) throw std::runtime_error("seteuid failed");
  }
  ~Unprivileged() {
    if (::seteuid(user_) != 0) std::abort();
  }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;

 private:
  uid_t user_;
};

TEST(FileFaults, Missing) {
  EXPECT_EQ(messageOf("/nonexistent/group.yaml"),
            "/nonexistent/group.yaml: there is no such file; check the path, or write one with tenure init");
  EXPECT_EQ(messageOf(""), "there is no such file; check the path, or write one with tenure init");
}

TEST(FileFaults, Directory) {
  const test::TempDir directory;
  EXPECT_EQ(messageOf(directory.path()), directory.path().string() + ": this is a directory; give the YAML file in it");
}

TEST(FileFaults, Pipe) {
  const test::TempDir directory;
  const fs::path pipe = directory.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(messageOf(pipe), pipe.string() + ": this is not a regular file (a pipe or a device); give a YAML file");
  EXPECT_EQ(messageOf("/dev/null"), "/dev/null: this is not a regular file (a pipe or a device); give a YAML file");
}

TEST(FileFaults, NotReadable) {
  const test::TempDir directory;
  const fs::path file = directory.file("group.yaml");
  test::writeFile(file, "group: g\nstore: { type: memory }\n");
  ASSERT_EQ(::chmod(directory.path().c_str(), 0711), 0);
  ASSERT_EQ(::chmod(file.c_str(), 0), 0);
  const Unprivileged user;
  EXPECT_EQ(messageOf(file), file.string() + ": this process may not read the file (Permission denied)");
}

TEST(FileFaults, AFileOnTheWay) {
  const test::TempDir directory;
  test::writeFile(directory.file("file"), "x");
  const fs::path file = directory.file("file/group.yaml");
  EXPECT_EQ(messageOf(file), file.string() + ": the file cannot be opened: Not a directory");
}

TEST(FileFaults, LinkToItself) {
  const test::TempDir directory;
  fs::create_symlink("loop.yaml", directory.file("loop.yaml"));
  const fs::path file = directory.file("loop.yaml");
  EXPECT_EQ(messageOf(file), file.string() + ": the file cannot be opened: Too many levels of symbolic links");
}

TEST(FileFaults, ReadFails) {
  // Its type is that of a regular file, but its first page cannot be read.
  EXPECT_EQ(messageOf("/proc/self/mem"), "/proc/self/mem: the file cannot be read: Input/output error");
}

TEST(FileFaults, Empty) {
  const test::TempDir directory;
  const fs::path file = directory.file("empty.yaml");
  for (const std::string_view text : {"", "\n\n", "# nothing\n", "\xEF\xBB\xBF"}) {
    test::writeFile(file, text);
    EXPECT_EQ(messageOf(file), file.string() + ":1:1: the file is empty; it needs at least group and store");
  }
  test::writeFile(file, "---\n...\n");
  EXPECT_EQ(messageOf(file),
            file.string() + ":2:1: the file holds nothing where keys are expected, such as group: billing-scheduler");
}

TEST(FileFaults, NotUtf8) {
  const test::TempDir directory;
  const fs::path file = directory.file("latin1.yaml");
  test::writeFile(file, "group: g\nstore: { type: memory }\ncandidate: { id: caf\xE9 }\n");
  EXPECT_EQ(messageOf(file), file.string() + ":3:21: the byte 0xe9 is not UTF-8; save the file as UTF-8");
}

TEST(FileFaults, TooLarge) {
  const test::TempDir directory;
  const fs::path file = directory.file("large.yaml");
  const std::string start = "group: g\nstore: { type: memory }\n#";
  constexpr std::size_t limit = 1U << 20U;
  test::writeFile(file, start + std::string(limit - start.size(), 'x'));
  EXPECT_EQ(messageOf(file), "accepted");
  test::writeFile(file, start + std::string(limit - start.size() + 1, 'x'));
  EXPECT_EQ(messageOf(file), file.string() + ":1:1: the file is larger than 1 MiB; check that it is the right one");
  const auto text = loadGroupConfigFromText(std::string(limit + 1, ' '), "text");
  ASSERT_FALSE(text);
  EXPECT_EQ(toString(text.error()), "text:1:1: the text is larger than 1 MiB; check that it is the right one");
}

std::string repeated(std::string_view part) {
  std::string text;
  while (text.size() + part.size() <= (1U << 19U)) text += part;
  return text;
}

/// A large file is never accepted, never crashes and never takes for ever, however strange it is.
/// Each fault has a place, which is not counted from the start of its line.
TEST(FileFaults, ManyFaultsOfOneLineCostTimeByTheirNumber) {
  const auto secondsFor = [](int many, const std::string& before, const std::string& each, const std::string& after) {
    std::string text = before;
    for (int i = 0; i < many; ++i) text += each;
    const std::clock_t start = std::clock();
    const auto config = loadGroupConfigFromText(text + after, "large.yaml", [](const auto&) { return std::nullopt; });
    EXPECT_GE(config.error().size(), static_cast<std::size_t>(many));
    EXPECT_EQ(config.error().back().line, 1);
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  EXPECT_LT(secondsFor(200'000, "{ store: { type: memory }, group: '", "${X}", "' }\n"), test::slowness * 10.0);
  EXPECT_LT(secondsFor(90'000, "{ store: { type: etcd, endpoints: [ a", ", '${X}'", "]}}\n"), test::slowness * 10.0);
  EXPECT_LT(secondsFor(100'000, "{ group: g", ", group: g", "}\n"), test::slowness * 10.0);
}

TEST(FileFaults, LargeAndOdd) {
  for (const std::string_view part :
       {"a:\n",   "[",       "{",    "a: {", "- ",    "? ",         "\"",    "'",  "a: b\n",
        "&a ",    "${A",     "x",    ": ",   "!",     "- - -\n",    "#\n",   "\r", "|",
        "a: |\n", "{a: b, ", "*a\n", "%\n",  "---\n", "\xC3\xA9: ", "a: [\n"}) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_FALSE(loadGroupConfigFromText(repeated(part), "odd.yaml")) << part;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_LT(took.count(), test::slowness * 60.0) << part;
  }
}

}  // namespace
}  // namespace tenure
