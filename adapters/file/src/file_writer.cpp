#include "file_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "adapters/fence/src/fence_text.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/runtime/system_random.hpp"

namespace tenure::file_fence {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds firstStep = std::chrono::microseconds{100};
constexpr nanoseconds lastStep = std::chrono::microseconds{500};  // about as long as a write on a fast disk
/// A state with some hundred leases; a larger file is not one of ours.
constexpr std::uint64_t longestState = 16U << 20U;

std::string directoryOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

ErrorClass classOf(int code) {
  switch (code) {
    case EACCES:
    case EPERM:
    case EROFS:
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ENAMETOOLONG:
    case ELOOP:
    case notRegular:
    case notOurs:
    case manyNames:
      return ErrorClass::misconfigured;
    default:
      return ErrorClass::transient;
  }
}

std::string causeOf(int code) {
  switch (code) {
    case notRegular:
      return "it is not a regular file";
    case notOurs:
      return "it belongs to another user: if a fence of that user made it, run as that user; otherwise remove it, and "
             "keep the file in a directory where no other user can make files";
    case manyNames:
      return "it has other names (hard links): an append would change them too, and a replacement would not reach "
             "them; remove the other names";
    case ELOOP:
      return std::generic_category().message(code) +
             "; it is a symbolic link: give the path of the file itself, and remove links beside it";
    default:
      return std::generic_category().message(code);
  }
}

}  // namespace

FileWriter::FileWriter(Files& files, std::string path, FencedFileOptions options)
    : files_{files},
      path_{std::move(path)},
      fence_{path_ + ".fence"},
      next_{path_ + ".fence.next"},
      lock_{path_ + ".fence.lock"},
      directory_{directoryOf(path_)},
      options_{options} {}

std::string FileWriter::contentName(std::uint64_t sequence) const { return fence_ + '.' + std::to_string(sequence); }

FenceError FileWriter::trouble(const std::string& what, int code, bool mayBeWritten) const {
  std::string text = "file " + path_ + ": " + what + " failed: " + causeOf(code);
  if (code == EWOULDBLOCK) {
    text +=
        "; another writer held it for the whole lockTimeout of " + std::to_string(options_.lockTimeout.count()) + " ms";
  }
  if (code == ENOSPC || code == EDQUOT) text += "; free space";
  return fenceTrouble({classOf(code), text}, mayBeWritten);
}

FenceError FileWriter::corrupt(const std::string& text) const {
  return fenceTrouble({ErrorClass::corrupt, "file " + path_ + ": " + text});
}

FileWriter::Fault FileWriter::waitFor(const Instant& start, const std::function<int()>& lock) {
  SystemRandom random;
  for (nanoseconds longest = firstStep;; longest = std::min(longest * 2, lastStep)) {
    const int code = lock();
    if (code == 0) return std::nullopt;
    const nanoseconds left = options_.lockTimeout - elapsedForHolder(start, readClock());
    if (code != -EWOULDBLOCK || left <= nanoseconds{0}) return trouble("locking " + lock_, -code);
    files_.pause(std::min(left, jittered(random, longest)));
  }
}

/// Writers wait in a queue of one place. Otherwise a writer that writes without a break would keep all others out,
/// because writers that poll come too late each time.
FileWriter::Fault FileWriter::locked(const std::function<Fault()>& step) {
  const OpenFile lock{files_, files_.open(lock_, Files::Kind::lock)};
  if (lock.get() < 0) return trouble("opening " + lock_, -lock.get());
  const Instant start = readClock();
  if (auto late = waitFor(start, [&] { return files_.queue(lock.get()); })) return late;
  if (auto late = waitFor(start, [&] { return files_.lock(lock.get()); })) return late;
  files_.unqueue(lock.get());
  return step();
}

/// Makes a new file with this content on the disk. Its name is durable only after a sync of the directory too. If
/// `like` names a file, the new file gets that file's access rights before its first byte is written. An existing file
/// with this name is removed, never written to: somebody may have opened it before, or the name may be a link to
/// another file. After a failure, most often a full disk, nothing is left.
FileWriter::Fault FileWriter::fill(const std::string& path, std::string_view bytes, const char* what, Likeness like) {
  const std::string named = std::string{what} + ' ' + path;
  const int gone = files_.remove(path);
  if (gone < 0 && gone != -ENOENT) return trouble("removing what is in the place of " + named, -gone);
  const OpenFile file{files_, files_.open(path, like.kind)};
  if (file.get() < 0) return trouble("opening " + named, -file.get());
  auto fault = fillOpen(file.get(), bytes, named, like);
  if (fault) (void)files_.remove(path);
  return fault;
}

FileWriter::Fault FileWriter::fillOpen(int file, std::string_view bytes, const std::string& named, Likeness like) {
  if (like.fd >= 0) {
    const int code = files_.copyAccess(like.fd, file);
    if (code < 0) return trouble("giving the new content the owner, the mode and the access list of the old", -code);
  }
  for (std::uint64_t at = 0; at < bytes.size();) {
    const std::int64_t written = files_.write(file, at, bytes.substr(at));
    if (written <= 0) return trouble("writing " + named, written == 0 ? EIO : static_cast<int>(-written));
    at += static_cast<std::uint64_t>(written);
  }
  if (const int code = files_.sync(file); code < 0) return trouble("syncing " + named, -code);
  return std::nullopt;
}

/// The rename is the step that makes a write valid; everything it needs is on the disk before. The rename itself is
/// certain only after the directory's sync, so if the sync fails, it is open what would be left after a power failure.
FileWriter::Fault FileWriter::commit(const FenceState& state) {
  if (auto fault = prepare(state)) return fault;
  return commitPrepared();
}

FileWriter::Fault FileWriter::prepare(const FenceState& state) { return fill(next_, toText(state), "the fence", {}); }

FileWriter::Fault FileWriter::commitPrepared() {
  if (const int code = files_.rename(next_, fence_); code < 0) return trouble("renaming the fence", -code);
  if (const int code = files_.syncDirectory(directory_); code < 0) return trouble("syncing the directory", -code, true);
  return std::nullopt;
}

FenceResult<FenceState> FileWriter::load() {
  const OpenFile file{files_, files_.open(fence_, Files::Kind::beside)};
  if (file.get() < 0) return trouble("opening the fence " + fence_, -file.get());
  std::string text;
  if (const int code = files_.read(file.get(), text, longestState); code < 0)
    return trouble("reading the fence", -code);
  auto state = parseFenceState(text);
  if (!state)
    return corrupt("the fence " + fence_ +
                   " is damaged or was edited; restore it. If you delete it, the highest token is forgotten");
  return *std::move(state);
}

/// Finishes what an accepted write has left to do, and removes what a write that was not accepted has left.
FileWriter::Fault FileWriter::recover(const FenceState& state) {
  if (state.replaced) {
    // The write is accepted, but perhaps not renamed yet, or the rename is not durable. What follows depends on it.
    const std::string content = contentName(state.sequence);
    const int code = files_.rename(content, path_);
    if (code < 0 && code != -ENOENT) return trouble("putting the accepted content " + content + " in place", -code);
    if (const int synced = files_.syncDirectory(directory_); synced < 0)
      return trouble("syncing the directory", -synced);
  }
  // Left by a writer that was killed; it may be as large as the free part of the disk. If it cannot be removed, the
  // content is still correct.
  (void)files_.remove(contentName(state.sequence + 1));
  const OpenFile file{files_, files_.open(path_, Files::Kind::content)};
  if (file.get() == -ENOENT && state.length == 0) return std::nullopt;
  if (file.get() < 0) return trouble("opening it", -file.get());
  const std::int64_t size = files_.size(file.get());
  if (size < 0) return trouble("looking at it", static_cast<int>(-size));
  if (static_cast<std::uint64_t>(size) < state.length) {
    return corrupt("it has " + std::to_string(size) + " bytes, but " + std::to_string(state.length) +
                   " were accepted: another program cut or replaced it; restore it together with " + fence_);
  }
  if (static_cast<std::uint64_t>(size) == state.length) return std::nullopt;
  const int code = files_.truncate(file.get(), state.length);
  return code < 0 ? Fault{trouble("cutting off what was never accepted", -code)} : std::nullopt;
}

FenceResult<std::optional<TermStamp>> FileWriter::seenIn(const FenceState& state, const std::string& lease) const {
  const auto known = state.leases.find(lease);
  if (known == state.leases.end()) return std::optional<TermStamp>{};
  const FencingToken token = known->second.token;
  if (token.isNone() || token > maxFencingToken) return damagedFence("file " + fence_, lease, toString(token));
  return std::optional{TermStamp{lease, token, known->second.holder}};
}

FenceResult<void> FileWriter::write(const TermStamp& stamp, const Write& step) {
  if (auto refusal = refusalOf(stamp)) return *std::move(refusal);
  auto fault = locked([&]() -> Fault {
    auto state = load();
    if (state.has_error()) return state.error();
    const auto seen = seenIn(*state, stamp.lease);
    if (seen.has_error()) return seen.error();
    if (auto refusal = fenceRefusal(stamp, *seen)) return refusal;
    if (inside) inside();
    if (auto left = recover(*state)) return left;
    state->leases[stamp.lease] = {stamp.token, stamp.holder};
    return step(*state);
  });
  if (fault) return *std::move(fault);
  return {};
}

FenceResult<void> FileWriter::append(const TermStamp& stamp, std::string_view bytes) {
  return write(stamp, [&](FenceState& state) -> Fault {
    {
      const OpenFile there{files_, files_.open(path_, Files::Kind::content)};
      const bool fresh = there.get() == -ENOENT;
      const OpenFile made{files_, fresh ? files_.open(path_, Files::Kind::newContent) : -1};
      const OpenFile& file = fresh ? made : there;
      if (file.get() < 0) return trouble("opening it", -file.get());
      for (std::uint64_t done = 0; done < bytes.size();) {
        const std::int64_t written = files_.write(file.get(), state.length + done, bytes.substr(done));
        if (written <= 0) return trouble("writing to it", written == 0 ? EIO : static_cast<int>(-written));
        done += static_cast<std::uint64_t>(written);
      }
      if (const int code = files_.sync(file.get()); code < 0) return trouble("syncing it", -code);
      // The fence must not count bytes of a file whose name a power failure could remove. A writer that was killed may
      // have made the file without syncing the directory.
      const bool mayBeNew = fresh || state.length == 0;
      const int code = mayBeNew ? files_.syncDirectory(directory_) : 0;
      if (code < 0) return trouble("syncing the directory", -code);
    }
    state.length += bytes.size();
    state.replaced = false;
    return commit(state);
  });
}

FenceResult<void> FileWriter::replace(const TermStamp& stamp, std::string_view bytes) {
  return write(stamp, [&](FenceState& state) -> Fault {
    ++state.sequence;
    state.length = bytes.size();
    state.replaced = true;
    const std::string content = contentName(state.sequence);
    if (auto fault = fillContent(content, bytes)) return fault;
    auto fault = [&]() -> Fault {
      // The fence must not name a content whose own name a power failure could remove.
      const int code = files_.syncDirectory(directory_);
      return code < 0 ? trouble("syncing the directory", -code) : prepare(state);
    }();
    if (fault) {
      (void)files_.remove(content);  // not after commitPrepared(): a rename that failed may have been carried out
      return fault;
    }
    if (auto doubt = commitPrepared()) return doubt;
    // From here on the write is accepted; otherwise the next writer would put the content in place.
    if (const int code = files_.rename(content, path_); code < 0) {
      return trouble("putting the accepted content " + content + " in place", -code, true);
    }
    if (const int code = files_.syncDirectory(directory_); code < 0)
      return trouble("syncing the directory", -code, true);
    return std::nullopt;
  });
}

FileWriter::Fault FileWriter::fillContent(const std::string& content, std::string_view bytes) {
  const OpenFile before{files_, files_.open(path_, Files::Kind::content)};
  if (before.get() < 0 && before.get() != -ENOENT) return trouble("opening it", -before.get());
  const bool fresh = before.get() < 0;
  const Likeness like{fresh ? Files::Kind::newContent : Files::Kind::newBeside, before.get()};
  return fill(content, bytes, "the new content", like);
}

FileWriter::Fault FileWriter::makeState() {
  FenceState state;
  const OpenFile file{files_, files_.open(path_, Files::Kind::content)};
  if (file.get() < 0 && file.get() != -ENOENT) return trouble("opening it", -file.get());
  if (file.get() >= 0) {
    const std::int64_t size = files_.size(file.get());
    if (size < 0) return trouble("looking at it", static_cast<int>(-size));
    state.length = static_cast<std::uint64_t>(size);
  }
  return commit(state);
}

std::optional<FenceError> FileWriter::open() {
  return locked([&]() -> Fault {
    const OpenFile fence{files_, files_.open(fence_, Files::Kind::beside)};
    if (fence.get() == -ENOENT) return makeState();
    if (fence.get() < 0) return trouble("opening the fence " + fence_, -fence.get());
    auto state = load();
    if (state.has_error()) return state.error();
    if (auto left = recover(*state)) return left;
    // A writer that was killed may have renamed the fence without syncing the directory.
    const int code = files_.syncDirectory(directory_);
    return code < 0 ? Fault{trouble("syncing the directory", -code)} : std::nullopt;
  });
}

FenceResult<std::string> FileWriter::read() {
  std::string content;
  auto fault = locked([&]() -> Fault {
    const auto state = load();
    if (state.has_error()) return state.error();
    if (auto left = recover(*state)) return left;
    const OpenFile file{files_, files_.open(path_, Files::Kind::content)};
    if (file.get() == -ENOENT) return std::nullopt;
    if (file.get() < 0) return trouble("opening it", -file.get());
    const int code = files_.read(file.get(), content, state->length);
    return code < 0 ? Fault{trouble("reading it", -code)} : std::nullopt;
  });
  if (fault) return *std::move(fault);
  return content;
}

FenceResult<std::string> FileWriter::stored(const std::string& lease) {
  const auto state = load();
  if (state.has_error()) return FenceError{state.error()};
  const auto known = state->leases.find(lease);
  return known == state->leases.end() ? std::string{} : toString(known->second.token);
}

FenceResult<void> FileWriter::setMemory(const TermStamp& memory) {
  if (auto refusal = refusalOf(memory)) return *std::move(refusal);
  auto fault = locked([&]() -> Fault {
    auto state = load();
    if (state.has_error()) return state.error();
    if (auto left = recover(*state)) return left;
    state->leases[memory.lease] = {memory.token, memory.holder};
    return commit(*state);
  });
  if (fault) return *std::move(fault);
  return {};
}

FenceResult<std::optional<TermStamp>> FileWriter::highestSeen(const std::string& lease) {
  const auto state = load();
  if (state.has_error()) return FenceError{state.error()};
  return seenIn(*state, lease);
}

}  // namespace tenure::file_fence
