// A fenced writer for a plain file. It appends to the file or replaces it, all or nothing, under a token that is kept
// next to it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/adapters/fenced_writer.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/fence.hpp>

namespace tenure {

struct FencedFileOptions {
  /// How long one call waits for other writers, in short steps with jitter. 0: it does not wait.
  std::chrono::milliseconds lockTimeout{1'000};
};

/// Keeps former leaders out of a file. Next to PATH it keeps `PATH.fence`. This file holds the highest token of each
/// lease and its holder, and the length of the accepted content. One rename of it makes a write and its token valid
/// together. Bytes after the accepted length come from a writer that was killed and were never accepted: read() does
/// not return them, and the next write cuts them off. Writers lock `PATH.fence.lock` (flock), which stays empty, and
/// then the fence itself, so that they exclude each other even if the first was removed.
///
///     auto file = tenure::FencedFile::open("/var/lib/billing/ledger").value();
///     auto written = file.append(term, "paid 100\n");  // term: the Leadership; it ends if the fence says stale
///
/// A write has reached the disk when the call returns (fsync of the data, of the fence, of the directory). At whatever
/// instruction the process is killed or the power fails, the next opening finds the content from before or from after
/// the write, and the token that belongs to it. Programs that read PATH directly see a replacement at once and as a
/// whole. Of an append they may see a part while it is being written. They may also see an append that was never
/// accepted, until the next write.
///
/// A replacement gets the owner, the mode and the POSIX access list of the file that it replaces; it is refused where
/// this user may not set them. Other extended attributes are not kept; set-user-ID and set-group-ID are only kept when
/// root writes. The files next to PATH are only for the user who writes. All writers of one file run as one user,
/// and no other user can block them: files that another user has made there are refused, even when root writes. A PATH
/// with two names (hard links) is refused too, and so is one that is mounted alone (a bind mount of a single file). No
/// file is opened through a symbolic link, and none may be on the way to it.
///
/// The files belong to the fence: another program that writes PATH is not fenced, and what it appends is cut off. Do
/// not delete, copy back or edit `PATH.fence`: it is the fence's memory. Local file systems only.
///
/// A process that is frozen inside a write holds the lock. Its successor gets transient errors until the frozen
/// process is woken or killed. One thread at a time; the processes that share a file do not have to know of each other.
class TENURE_API FencedFile {
 public:
  /// Creates `PATH.fence` and its lock where they are missing; an existing PATH becomes the accepted content. Refused
  /// on network file systems, because neither locks nor renames are reliable between machines there.
  [[nodiscard]] static FenceResult<FencedFile> open(const std::string& path, FencedFileOptions options = {});

  ~FencedFile();
  FencedFile(FencedFile&&) noexcept;
  FencedFile& operator=(FencedFile&&) noexcept;

  /// `bytes` becomes part of the file whole or not at all: a line with its newline, a record. Locks; checks the stamp;
  /// writes and syncs; makes the write valid together with its token. A rejection comes before anything is written.
  /// WriteError has `mayBeWritten` only for a fault after the step that makes the write valid: then the write counts,
  /// unless the power fails too.
  [[nodiscard]] FenceResult<void> append(const TermStamp& stamp, std::string_view bytes);
  /// The same, with `bytes` as the whole new content.
  [[nodiscard]] FenceResult<void> replace(const TermStamp& stamp, std::string_view bytes);

  /// The same under a term: TermOver once the term is no longer valid; a stale token ends the term.
  [[nodiscard]] FenceResult<void> append(const FencedTerm& term, std::string_view bytes) {
    return underTerm(term, [&](const TermStamp& stamp) { return append(stamp, bytes); });
  }
  [[nodiscard]] FenceResult<void> replace(const FencedTerm& term, std::string_view bytes) {
    return underTerm(term, [&](const TermStamp& stamp) { return replace(stamp, bytes); });
  }

  /// The accepted content. If a writer was killed before its call returned, its last write may or may not be part of
  /// the content. If it is, a power failure before the next write or opening may take it back.
  [[nodiscard]] FenceResult<std::string> read();
  [[nodiscard]] FenceResult<std::optional<TermStamp>> highestSeen(const std::string& lease);

 private:
  class Impl;
  explicit FencedFile(std::unique_ptr<Impl> impl) noexcept;

  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure
