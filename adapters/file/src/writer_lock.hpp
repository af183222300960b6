// The locks of one operation on a fenced file.
#pragma once

#include <functional>
#include <optional>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/fence.hpp>

#include "fence_state.hpp"
#include "files.hpp"

namespace tenure::file_fence {

/// An open file; it is closed with the object.
class OpenFile {
 public:
  OpenFile(Files& files, int fd) noexcept : files_{files}, fd_{fd} {}
  ~OpenFile() {
    if (fd_ >= 0) files_.close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  Files& files_;
  int fd_;
};

/// The descriptors that an operation holds.
struct Held {
  int directory;
  int lock;
  int fence{-1};  ///< the fence as it was at the beginning; none if there was none
};

/// A writer locks two files: `PATH.fence.lock`, and then the fence itself.
///
/// The first alone is not enough. It is empty and looks forgotten, so a person or a cleaner may remove it while a
/// writer is frozen inside of a write. The next writer makes another one and locks that. It is acknowledged; then the
/// first one wakes, writes over the accepted bytes and renames its older fence over the newer one. Looking at the
/// lock's inode before the rename leaves a window between the two.
///
/// The second lock leaves none. It is on what the write replaces: whoever wants to write must open the file that is
/// called `PATH.fence`, and while a writer holds that file's lock, the name can only lead to another file if the writer
/// renames it there itself, which is its last step that matters, or if somebody removes the memory. From the opening to
/// the rename, all other writers find the locked file. While there is no fence yet, there is nothing to lock. So
/// whoever makes the first one gives it a name that no file has, and can replace nothing.
///
/// The first lock stays: it keeps older releases out, which know no other, it exists before there is a fence, and its
/// queue is fair. The directory is not locked: whoever may read it could then hold all writers up.
class WriterLock {
 public:
  using Fault = std::optional<FenceError>;

  WriterLock(Files& files, const FileNames& names) : files_{files}, names_{names} {}

  /// Calls `step` with the locks held, and releases them.
  [[nodiscard]] Fault during(const std::function<Fault(const Held&)>& step);
  /// Whether the names still lead to what is held. To be asked right before a write becomes valid: a writer of an older
  /// release, which locks the first file only, may have written if that file was removed. Nothing is written if so.
  [[nodiscard]] Fault lost(const Held& held);

 private:
  [[nodiscard]] Fault waitFor(const std::string& name, const std::function<int()>& lock);
  [[nodiscard]] Fault lockFirst(int directory, const std::function<Fault(int)>& then);
  [[nodiscard]] Fault lockFence(Held held, const std::function<Fault(const Held&)>& step);

  Files& files_;
  const FileNames& names_;
  Instant start_{};
};

}  // namespace tenure::file_fence
