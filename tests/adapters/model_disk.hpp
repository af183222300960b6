// A file system in memory that distinguishes between what is on the disk and what only the kernel has.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adapters/file/src/files.hpp"
#include "support/seeded_random.hpp"

namespace tenure::test {

/// The process ends, at a system call.
struct ProcessEnds {};

/// Calls are numbered. At the chosen one it fails with an error, or the process ends there: before the call, or in the
/// middle of a write. After a power failure each file has some of its writes since its last sync. Of the changes of
/// names since the directory's last sync each may or may not be there: that is less than journaling file systems
/// promise. Each change is complete or absent.
class ModelDisk final : public file_fence::Files {
 public:
  enum class Mishap { none, error, end };
  void arm(Mishap mishap, int atCall, int error = EIO) {
    mishap_ = mishap;
    left_ = atCall;
    error_ = error;
    syncFailed_ = false;
  }
  /// False if the armed call was never made.
  [[nodiscard]] bool struck() const noexcept { return mishap_ == Mishap::none; }
  /// The armed call was a sync, and it failed.
  [[nodiscard]] bool syncFailed() const noexcept { return syncFailed_; }

  /// The process is gone, with its locks and descriptors.
  void restart() {
    descriptors_.clear();
    locked_.clear();
  }
  void failPower(SeededRandom& random) {
    restart();
    std::map<std::string, Inode> names = durableNames_;
    for (const Change& change : changes_) {
      if (random.chance(0.5)) change.apply(names);
    }
    changes_.clear();
    for (auto& [name, inode] : names) inode->tear(random);
    names_ = durableNames_ = names;
  }

  /// The names that are there now, as a process sees them.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, inode] : names_) names.push_back(name);
    return names;
  }

  int openDirectory(const std::string& path) override {
    if (const int failed = call()) return failed;
    directory_ = path + '/';
    return ++lastDescriptor_;
  }
  int open(int /*directory*/, const std::string& name, Kind kind) override {
    if (const int failed = call()) return failed;
    const std::string path = directory_ + name;
    const bool mustBeNew = kind == Kind::newContent || kind == Kind::newBeside;
    if (names_.contains(path)) {
      if (mustBeNew) return -EEXIST;
    } else {
      if (!mustBeNew && kind != Kind::lock) return -ENOENT;
      change({"", path, std::make_shared<Content>()});
    }
    descriptors_[++lastDescriptor_] = names_[path];
    return lastDescriptor_;
  }
  int isNamed(int /*directory*/, const std::string& name, int fd) override {
    if (const int failed = call()) return failed;
    const auto found = names_.find(directory_ + name);
    return found != names_.end() && found->second == descriptors_.at(fd) ? 1 : 0;
  }
  int leadsTo(const std::string& path, int /*directory*/) override {
    if (const int failed = call()) return failed;
    return path + '/' == directory_ ? 1 : 0;
  }
  int copyAccess(int /*from*/, int /*to*/) override { return call(); }
  void close(int fd) noexcept override {
    std::erase(locked_, fd);
    descriptors_.erase(fd);
  }
  std::int64_t size(int fd) override {
    if (const int failed = call()) return failed;
    return static_cast<std::int64_t>(descriptors_.at(fd)->now.size());
  }
  int read(int fd, std::string& out, std::uint64_t most) override {
    if (const int failed = call()) return failed;
    out = descriptors_.at(fd)->now.substr(0, most);
    return 0;
  }
  std::int64_t write(int fd, std::uint64_t at, std::string_view bytes) override {
    const Inode inode = descriptors_.at(fd);
    const std::string_view half = bytes.substr(0, bytes.size() / 2);
    if (strikes()) {
      inode->write(at, half);
      return fail();
    }
    const std::string_view some =
        bytes.size() > 3 ? bytes.substr(0, bytes.size() - 1) : bytes;  // short, each time once
    inode->write(at, some);
    return static_cast<std::int64_t>(some.size());
  }
  int truncate(int fd, std::uint64_t size) override {
    if (const int failed = call()) return failed;
    descriptors_.at(fd)->truncate(size);
    return 0;
  }
  int sync(int fd) override {
    if (const int failed = syncCall()) return failed;
    descriptors_.at(fd)->sync();
    return 0;
  }
  int rename(int /*directory*/, const std::string& from, const std::string& to) override {
    if (const int failed = call()) return failed;
    const auto found = names_.find(directory_ + from);
    if (found == names_.end()) return -ENOENT;
    change({directory_ + from, directory_ + to, found->second});
    return 0;
  }
  int renameToNew(int directory, const std::string& from, const std::string& to) override {
    return names_.contains(directory_ + to) ? -EEXIST : rename(directory, from, to);
  }
  int remove(int /*directory*/, const std::string& name) override {
    if (const int failed = call()) return failed;
    const std::string path = directory_ + name;
    const auto found = names_.find(path);
    if (found == names_.end()) return -ENOENT;
    change({path, "", found->second});
    return 0;
  }
  int syncDirectory(int /*directory*/) override {
    if (const int failed = syncCall()) return failed;
    durableNames_ = names_;
    changes_.clear();
    return 0;
  }
  int lock(int fd) override {
    if (const int failed = call()) return failed;
    const Inode inode = descriptors_.at(fd);
    const auto isSame = [&](int other) { return descriptors_.at(other) == inode; };
    if (std::any_of(locked_.begin(), locked_.end(), isSame)) return -EWOULDBLOCK;
    locked_.push_back(fd);
    return 0;
  }
  int queue(int /*fd*/) override { return call(); }
  void unqueue(int /*fd*/) noexcept override {}
  void pause(std::chrono::nanoseconds /*duration*/) noexcept override {}

 private:
  struct Content {
    std::string now, durable;
    std::vector<std::string> since;  ///< the state after each change since the last sync

    void write(std::uint64_t at, std::string_view bytes) {
      if (now.size() < at + bytes.size()) now.resize(at + bytes.size(), '\0');
      now.replace(at, bytes.size(), bytes);
      since.push_back(now);
    }
    void truncate(std::uint64_t size) {
      now.resize(size, '\0');
      since.push_back(now);
    }
    void sync() {
      durable = now;
      since.clear();
    }
    void tear(SeededRandom& random) {
      const std::uint64_t pick = random.below(since.size() + 1);
      now = pick == 0 ? durable : since[pick - 1];
      if (pick != 0 && now.size() > durable.size() && random.chance(0.5)) {
        now.resize(durable.size() + random.below(now.size() - durable.size() + 1));  // a part of the growth
      }
      durable = now;
      since.clear();
    }
  };
  using Inode = std::shared_ptr<Content>;

  /// Removes a name, creates one, or does both at once.
  struct Change {
    std::string from, to;
    Inode inode;

    void apply(std::map<std::string, Inode>& names) const {
      const auto old = names.find(from);
      if (old != names.end() && old->second == inode) names.erase(old);
      if (!to.empty()) names[to] = inode;
    }
  };
  void change(Change made) {
    made.apply(names_);
    changes_.push_back(std::move(made));
  }

  [[nodiscard]] bool strikes() { return mishap_ != Mishap::none && left_-- == 0; }
  [[nodiscard]] int fail() {
    const Mishap mishap = mishap_;
    mishap_ = Mishap::none;
    if (mishap == Mishap::end) throw ProcessEnds{};
    return -error_;
  }
  [[nodiscard]] int call() { return strikes() ? fail() : 0; }
  [[nodiscard]] int syncCall() {
    const int failed = call();
    syncFailed_ = syncFailed_ || failed != 0;
    return failed;
  }

  std::map<std::string, Inode> names_, durableNames_;
  std::vector<Change> changes_;
  std::map<int, Inode> descriptors_;
  std::vector<int> locked_;
  std::string directory_;
  int lastDescriptor_{2};
  Mishap mishap_{Mishap::none};
  int left_{0};
  int error_{EIO};
  bool syncFailed_{false};
};

}  // namespace tenure::test
