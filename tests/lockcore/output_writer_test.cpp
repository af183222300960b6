// Output that never delays whoever writes it: a pipe that nobody reads, a full disk, a fork.
#include "lockcore/runtime/output_writer.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <future>
#include <iterator>
#include <regex>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <climits>
#include <gtest/gtest.h>

#include <tenure/lockcore/clock.hpp>

#include "lockcore/child_process.hpp"
#include "lockcore/runtime/open_file.hpp"
#include "lockcore/runtime/unique_fd.hpp"
#include "support/eventually.hpp"
#include "support/temp_dir.hpp"

namespace tenure::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds patience{60};
constexpr Eventually eventually{patience};

/// Blocking at the end that is written, as a shell makes it.
class Pipe {
 public:
  Pipe() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    read_.reset(ends[0]);
    write_.reset(ends[1]);
    EXPECT_EQ(fcntl(read_.get(), F_SETFL, O_NONBLOCK), 0);
  }
  [[nodiscard]] int end() const noexcept { return write_.get(); }
  void closeReader() { read_.reset(); }
  void fill() {
    EXPECT_EQ(fcntl(write_.get(), F_SETFL, O_NONBLOCK), 0);
    const std::string much(65536, '.');
    for (const std::size_t size : {much.size(), std::size_t{1}}) {
      while (write(write_.get(), much.data(), size) > 0) {
      }
    }
    EXPECT_EQ(fcntl(write_.get(), F_SETFL, 0), 0);
    full_ = waiting();
  }
  void freeOnePage() const {
    std::array<char, PIPE_BUF> page{};
    EXPECT_EQ(::read(read_.get(), page.data(), page.size()), static_cast<ssize_t>(page.size()));
  }
  [[nodiscard]] bool isFull() const { return waiting() == full_; }
  [[nodiscard]] const std::string& read() {
    std::array<char, 65536> room{};
    for (ssize_t got = 0; (got = ::read(read_.get(), room.data(), room.size())) > 0;)
      all_.append(room.data(), static_cast<std::size_t>(got));
    return all_;
  }
  [[nodiscard]] bool says(const std::string& text) {
    return eventually([&] { return read().find(text) != std::string::npos; });
  }

 private:
  [[nodiscard]] int waiting() const {
    int size = 0;
    EXPECT_EQ(ioctl(read_.get(), FIONREAD, &size), 0);
    return size;
  }

  UniqueFd read_;
  UniqueFd write_;
  int full_{0};
  std::string all_;
};

std::uint64_t lostIn(const std::string& text) {
  const std::string words = " lines were lost here: stderr was blocked\n";
  std::uint64_t sum = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1))
    sum += std::stoull(text.substr(text.rfind(' ', at - 1) + 1));
  return sum;
}

std::uint64_t countOf(const std::string& text, const std::string& what) {
  std::uint64_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(OutputWriter, writesInOrder) {
  Pipe pipe;
  OutputWriter writer{pipe.end()};
  std::string wanted;
  for (int i = 0; i < 100; ++i) {
    const std::string line = std::to_string(i) + '\n';
    wanted += line;
    writer.post(line);
  }
  EXPECT_EQ(writer.flush(patience), 0);
  EXPECT_EQ(pipe.read(), wanted);
  EXPECT_EQ(writer.dropped(), 0U);
}

/// A write for each line would be slower than threads that log, so lines would be dropped although all is read.
TEST(OutputWriter, linesThatWaitAreWrittenTogetherAndWhole) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_DIRECT), 0);  // a read returns what one write wrote
  const UniqueFd packets{ends[0]};
  const UniqueFd end{ends[1]};
  OutputWriter writer{end.get()};
  constexpr std::size_t lines = 2'000;
  const std::string line = std::string(99, 'x') + '\n';
  for (std::size_t i = 0; i < lines; ++i) writer.post(line);  // the pipe has room for 16 writes
  std::size_t got = 0;
  std::size_t writes = 0;
  for (std::array<char, std::size_t{2} * PIPE_BUF> room{}; got < lines * line.size(); ++writes) {
    const ssize_t size = read(packets.get(), room.data(), room.size());
    ASSERT_GT(size, 0);
    EXPECT_LE(size, PIPE_BUF);
    EXPECT_EQ(static_cast<std::size_t>(size) % line.size(), 0U);
    got += static_cast<std::size_t>(size);
  }
  EXPECT_LT(writes, lines / 20);
  EXPECT_EQ(writer.dropped(), 0U);
}

TEST(OutputWriter, aFullFileCountsNoWrittenLineAndEndsTheOneThatWasCut) {
  const TempDir directory;
  const UniqueFd file{openToWrite(directory.file("log"), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
  Pipe pipe;
  pipe.fill();
  pipe.freeOnePage();
  const UniqueFd target{fcntl(pipe.end(), F_DUPFD_CLOEXEC, 3)};
  OutputWriter writer{target.get()};
  writer.post(std::string(std::size_t{2} * PIPE_BUF, 'x') + "first\n");
  ASSERT_TRUE(eventually([&] { return pipe.isFull(); }));  // the thread is in the middle of this write
  for (int i = 0; i < 5; ++i) writer.post("line " + std::to_string(i) + '\n');
  ASSERT_EQ(dup3(file.get(), target.get(), O_CLOEXEC), target.get());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{17, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const bool first = pipe.says("first\n");
  const int error = writer.flush(patience);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_TRUE(first);
  EXPECT_EQ(error, EFBIG);
  EXPECT_EQ(writer.dropped(), 3U);
  writer.post("again\n");
  EXPECT_EQ(writer.flush(patience), 0);
  std::ifstream log{directory.file("log")};
  const std::string all{std::istreambuf_iterator<char>{log}, {}};
  EXPECT_TRUE(all.starts_with("line 0\nline 1\nlin\n")) << all;
  EXPECT_EQ(lostIn(all), 3U) << all;
  EXPECT_TRUE(all.ends_with("\nagain\n")) << all;
}

TEST(OutputWriter, anUnreadPipeDelaysNoCallerAndReportsItsCountByItself) {
  constexpr std::uint64_t lines = 10'000;
  Pipe pipe;
  pipe.fill();
  OutputWriter writer{pipe.end()};
  auto posting = std::async(std::launch::async, [&] {
    for (std::uint64_t i = 0; i < lines; ++i) writer.post(std::string(100, 'x') + '\n');
  });
  ASSERT_EQ(posting.wait_for(patience), std::future_status::ready);
  EXPECT_EQ(writer.flush(milliseconds{1}), ETIMEDOUT);
  EXPECT_GT(writer.dropped(), 0U);
  ASSERT_TRUE(pipe.says("lost here"));
  EXPECT_EQ(writer.flush(patience), 0);
  const std::uint64_t written = countOf(pipe.read(), std::string(100, 'x') + '\n');
  EXPECT_GT(written, OutputWriter::mostBytes / 200);
  EXPECT_EQ(written + lostIn(pipe.read()), lines);
  EXPECT_EQ(lostIn(pipe.read()), writer.dropped());
  writer.post("again\n");
  ASSERT_TRUE(pipe.says("again\n"));
  EXPECT_EQ(lostIn(pipe.read()), writer.dropped()) << "told twice";
}

TEST(OutputWriter, theCountIsToldWhereTheLinesAreMissing) {
  Pipe pipe;
  pipe.fill();
  OutputWriter writer{pipe.end()};
  const std::string line = std::string(1000, 'x') + '\n';
  for (std::size_t i = 0; i < OutputWriter::mostBytes / 500; ++i) writer.post(line);
  const std::uint64_t before = writer.dropped();
  EXPECT_GT(before, 0U);
  // As soon as there is room for it, another line is taken; it comes after the count.
  ASSERT_TRUE(eventually([&] {
    static_cast<void>(pipe.read());
    writer.post("later\n");
    return writer.flush(milliseconds{1}) == 0;
  }));
  EXPECT_EQ(writer.flush(patience), 0);
  const std::string& all = pipe.read();
  EXPECT_LT(all.rfind(line), all.find("lost here"));
  EXPECT_LT(all.find("lost here"), all.find("later\n"));
}

TEST(OutputWriter, anEndWaitsForAReaderThatIsSlow) {
  Pipe pipe;
  pipe.fill();
  OutputWriter writer{pipe.end()};
  writer.post("the reason\n");
  auto reading = std::async(std::launch::async, [&] { return pipe.says("the reason\n"); });
  EXPECT_EQ(writer.flush(patience), 0);
  EXPECT_TRUE(reading.get());
}

TEST(OutputWriter, aTextThatIsLongerThanAllThatMayWaitIsWritten) {
  Pipe pipe;
  OutputWriter writer{pipe.end()};
  const std::string all(2 * OutputWriter::mostBytes, 'x');
  writer.post(all + '\n');
  EXPECT_TRUE(pipe.says("x\n"));
  EXPECT_EQ(pipe.read().size(), all.size() + 1);
}

TEST(OutputWriter, aWriteThatFailsIsReportedAndCountedAndToldOnceOutputWorksAgain) {
  const UniqueFd target{open("/dev/full", O_WRONLY | O_CLOEXEC)};
  ASSERT_TRUE(target);
  OutputWriter writer{target.get()};
  for (int i = 0; i < 3; ++i) {
    writer.post("lost\n");
    EXPECT_EQ(writer.flush(patience), ENOSPC);
  }
  EXPECT_EQ(writer.dropped(), 3U);
  Pipe pipe;
  ASSERT_EQ(dup3(pipe.end(), target.get(), O_CLOEXEC), target.get());
  writer.post("kept\n", LogFormat::json);
  EXPECT_EQ(writer.flush(patience), 0);
  EXPECT_EQ(countOf(pipe.read(), "\"event\":\"lines_lost\",\"count\":3,"), 1U) << pipe.read();
  EXPECT_TRUE(pipe.read().ends_with("kept\n")) << pipe.read();
}

TEST(OutputWriter, aClosedPipeEndsNothing) {
  Pipe pipe;
  pipe.closeReader();
  OutputWriter writer{pipe.end()};
  writer.post("nobody is there\n");
  EXPECT_EQ(writer.flush(patience), EPIPE);  // SIGPIPE would have ended this test
}

TEST(OutputWriter, aDescriptorThatDoesNotWaitIsWaitedFor) {
  Pipe pipe;
  pipe.fill();
  ASSERT_EQ(fcntl(pipe.end(), F_SETFL, O_NONBLOCK), 0);  // as a program that shares it may do
  OutputWriter writer{pipe.end()};
  writer.post("all of it\n");
  EXPECT_EQ(writer.flush(milliseconds{1}), ETIMEDOUT);
  EXPECT_TRUE(pipe.says("all of it\n"));
  EXPECT_EQ(writer.dropped(), 0U);
}

#if !defined(__SANITIZE_THREAD__)  // ThreadSanitizer lets no child of a process with threads start one

/// The reason for a failure is often that no thread and no process is allowed.
TEST(OutputWriter, whereNoThreadIsAllowedTheCallerWritesWhatHasRoom) {
  Pipe pipe;
  Pipe full;
  full.fill();
  const int code = inChild([&] {
    const rlimit none{0, 0};
    if (setrlimit(RLIMIT_NPROC, &none) != 0) return 1;
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) return 2;  // no limit holds for root
    OutputWriter writer{pipe.end()};
    writer.post("no more threads\n" + std::string(3 * PIPE_BUF, 'x') + '\n');
    writer.post("whole lines\n");
    if (writer.flush(milliseconds{0}) != 0) return 3;
    OutputWriter stuck{full.end()};
    stuck.post("no room\n");
    return stuck.flush(milliseconds{1}) == ETIMEDOUT ? 0 : 4;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(pipe.read(), "no more threads\n" + std::string(3 * PIPE_BUF, 'x') + "\nwhole lines\n");
}

/// The child has neither the thread nor the lines of its parent, and must not wait for either at its end.
TEST(StderrWriter, aForkedChildWritesAndEnds) {
  Pipe pipe;
  const UniqueFd kept{fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)};
  pipe.fill();
  ASSERT_EQ(dup2(pipe.end(), STDERR_FILENO), STDERR_FILENO);
  stderrWriter().post("of the parent\n");
  Pipe childs;
  const int code = inChild([&] {
    dup2(childs.end(), STDERR_FILENO);
    stderrWriter().post("of the child\n");
    return stderrWriter().flush(patience);
  });
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(pipe.says("of the parent\n"));
  ASSERT_EQ(dup2(kept.get(), STDERR_FILENO), STDERR_FILENO);
  EXPECT_EQ(childs.read(), "of the child\n");
}

/// What the end of a process does, with a reader that is slow and with one that does not read at all.
TEST(StderrWriter, exitWaitsForWhatWasLoggedButNotForEver) {
  for (const bool reads : {true, false}) {
    Pipe pipe;
    pipe.fill();
    const Instant begun = readClock();
    auto reading = std::async(std::launch::async, [&] { return !reads || pipe.says("last words\n"); });
    const int code = inChild([&] {
      dup2(pipe.end(), STDERR_FILENO);
      Logger::toStderr().log(LogLevel::error, "last words");
      std::exit(7);  // NOLINT(concurrency-mt-unsafe): of the child, whose only other thread is the writer's
      return 0;
    });
    EXPECT_EQ(code, 7);
    EXPECT_TRUE(reading.get());
    EXPECT_LT(elapsedForHolder(begun, readClock()), patience);
  }
}

/// As the destructors of static objects that were made before the first line.
TEST(StderrWriter, exitWaitsForWhatIsLoggedInHandlersThatRunLate) {
  Pipe pipe;
  const int code = inChild([&] {
    dup2(pipe.end(), STDERR_FILENO);
    std::atexit([] { Logger::toStderr().log(LogLevel::info, "last words"); });
    Logger::toStderr().log(LogLevel::info, "first words");
    std::exit(7);  // NOLINT(concurrency-mt-unsafe): of the child, whose only other thread is the writer's
    return 0;
  });
  EXPECT_EQ(code, 7);
  EXPECT_TRUE(std::regex_match(pipe.read(), std::regex{".*first words\n.*last words\n"})) << pipe.read();
}

#endif

}  // namespace
}  // namespace tenure::test
