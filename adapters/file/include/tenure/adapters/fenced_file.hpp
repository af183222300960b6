// A fenced writer for a plain file: append to it or replace it, all or nothing, under a token that is kept beside it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/adapters/fenced_writer.hpp>
#include <tenure/lockcore/fence.hpp>

namespace tenure {

struct FencedFileOptions {
  /// How long one call waits for other writers, in short steps with jitter. 0: not at all.
  std::chrono::milliseconds lockTimeout{1'000};
};

/// What to write.
struct FileAppend {
  std::string_view bytes;  ///< a line with its newline, a record; becomes part of the file whole or not at all
};
struct FileReplace {
  std::string_view bytes;  ///< the whole new content
};

/// Keeps former leaders out of a file. Beside PATH it keeps `PATH.fence`, which holds for each lease the highest token
/// and its holder, and how long the accepted content is; one rename of that file makes a write and its token count
/// together. What a writer that was killed has left behind the accepted length was never accepted: it is no part of
/// read(), and the next write cuts it off. `PATH.fence.lock` is what writers lock (flock); it may be empty for ever.
///
///     auto file = tenure::FencedFile::open("/var/lib/billing/ledger").value();
///     auto written = file.append(term, "paid 100\n");  // term: the Leadership; it ends if the fence says stale
///
/// A write has reached the disk when the call returns (fsync of the data, of the fence, of the directory). At whatever
/// instruction the process is killed or the power fails, the next opening finds the content of before or of after, and
/// the token that belongs to it. Programs that read PATH by themselves see a replacement at once and whole; of an
/// append they may see a part while it is written, and one that was never accepted until the next write.
///
/// A replacement has the owner, the mode and the POSIX access list of the file that it replaces, or is refused where
/// this user may not give it them; other extended attributes are not kept, and set-user-ID and set-group-ID only by
/// root. What lies beside PATH is for the user who writes alone, so the writers of one file are of one user, and nobody
/// else can hold them up: what another user has made there is refused, also to root. So is a PATH with two names (hard
/// links), and no file is opened through a symbolic link.
///
/// The files belong to the fence: whoever else writes PATH is not fenced, and what he appends is cut off. Do not
/// delete, copy back or edit `PATH.fence`: with it goes the memory. Local file systems only.
///
/// A process that is frozen inside of a write holds the lock, and its successor gets transient trouble until it is
/// woken or killed. One thread at a time; the processes that share a file need not know of each other.
class FencedFile {
 public:
  /// Makes `PATH.fence` and its lock where they are missing; an existing PATH becomes the accepted content. Refused on
  /// network file systems, where neither locks nor renames can be relied on between machines.
  [[nodiscard]] static FenceResult<FencedFile> open(const std::string& path, FencedFileOptions options = {});

  ~FencedFile();
  FencedFile(FencedFile&&) noexcept;
  FencedFile& operator=(FencedFile&&) noexcept;

  /// Lock; check the stamp; write and sync; make it count together with its token. A refusal comes before anything is
  /// written. WriteTrouble has `mayBeWritten` only for a fault after the step by which a write counts: it does then,
  /// unless the power fails too.
  [[nodiscard]] FenceResult<void> write(const TermStamp& stamp, const FileAppend& what);
  [[nodiscard]] FenceResult<void> write(const TermStamp& stamp, const FileReplace& what);

  /// The same under a term: TermOver once it is not valid any more; a stale token ends it.
  template <class What>
  [[nodiscard]] FenceResult<void> write(const FencedTerm& term, const What& what) {
    return underTerm(term, [&](const TermStamp& stamp) { return write(stamp, what); });
  }

  template <class StampOrTerm>
  [[nodiscard]] FenceResult<void> append(const StampOrTerm& as, std::string_view bytes) {
    return write(as, FileAppend{bytes});
  }
  template <class StampOrTerm>
  [[nodiscard]] FenceResult<void> replace(const StampOrTerm& as, std::string_view bytes) {
    return write(as, FileReplace{bytes});
  }

  /// The accepted content. The last write of a writer that was killed before it was told is a part of it or not; if it
  /// is, a power failure before the next write or opening may take it back.
  [[nodiscard]] FenceResult<std::string> read();
  [[nodiscard]] FenceResult<std::optional<TermStamp>> highestSeen(const std::string& lease);

 private:
  class Impl;
  explicit FencedFile(std::unique_ptr<Impl> impl) noexcept;

  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure
