#include "file_writer.hpp"

#include <cerrno>
#include <utility>

#include "adapters/fence/src/fence_text.hpp"

namespace tenure::file_fence {
namespace {

/// A state with some hundred leases; a larger file is not one of ours.
constexpr std::uint64_t longestState = 16U << 20U;

}  // namespace

FileWriter::FileWriter(Files& files, const std::string& path, FencedFileOptions options)
    : files_{files}, names_{path, options.lockTimeout}, lock_{files, names_} {}

/// Makes a new file with this content on the disk. Its name is durable only after a sync of the directory too. If
/// `like` names a file, the new file gets that file's access rights before its first byte is written. An existing file
/// with this name is removed, never written to: somebody may have opened it before, or the name may be a link to
/// another file. After a failure, most often a full disk, nothing is left.
FileWriter::Fault FileWriter::fill(const Held& held, const std::string& name, std::string_view bytes, const char* what,
                                   Likeness like) {
  const std::string named = std::string{what} + ' ' + names_.whole(name);
  const int gone = files_.remove(held.directory, name);
  if (gone < 0 && gone != -ENOENT) return names_.errorOf("removing what is in the place of " + named, -gone);
  const OpenFile file{files_, files_.open(held.directory, name, like.kind)};
  if (file.get() < 0) return names_.errorOf("opening " + named, -file.get());
  auto fault = fillOpen(file.get(), bytes, named, like);
  if (fault) (void)files_.remove(held.directory, name);
  return fault;
}

FileWriter::Fault FileWriter::fillOpen(int file, std::string_view bytes, const std::string& named, Likeness like) {
  if (like.fd >= 0) {
    const int code = files_.copyAccess(like.fd, file);
    if (code < 0)
      return names_.errorOf("giving the new content the owner, the mode and the access list of the old", -code);
  }
  for (std::uint64_t at = 0; at < bytes.size();) {
    const std::int64_t written = files_.write(file, at, bytes.substr(at));
    if (written <= 0) return names_.errorOf("writing " + named, written == 0 ? EIO : static_cast<int>(-written));
    at += static_cast<std::uint64_t>(written);
  }
  if (const int code = files_.sync(file); code < 0) return names_.errorOf("syncing " + named, -code);
  return std::nullopt;
}

/// The rename is the step that makes a write valid; everything it needs is on the disk before. The rename itself is
/// certain only after the directory's sync, so if the sync fails, it is open what would be left after a power failure.
FileWriter::Fault FileWriter::commit(const Held& held, const FenceState& state) {
  if (auto fault = prepare(held, state)) return fault;
  return commitPrepared(held);
}

FileWriter::Fault FileWriter::prepare(const Held& held, const FenceState& state) {
  if (auto fault = fill(held, names_.next, toText(state), "the fence", {})) return fault;
  auto fault = lock_.lost(held);
  if (fault) (void)files_.remove(held.directory, names_.next);
  return fault;
}

FileWriter::Fault FileWriter::commitPrepared(const Held& held) {
  const auto rename = held.fence < 0 ? &Files::renameToNew : &Files::rename;
  if (const int code = (files_.*rename)(held.directory, names_.next, names_.fence); code < 0) {
    // The file was made a moment ago. If it has gone, another writer has renamed it to where it belongs, which only
    // writers without a common lock can do.
    return names_.errorOf("renaming the fence", -code, code == -ENOENT);
  }
  return syncDirectory(held, true);
}

FileWriter::Fault FileWriter::syncDirectory(const Held& held, bool mayBeWritten) {
  const int code = files_.syncDirectory(held.directory);
  return code < 0 ? Fault{names_.errorOf("syncing the directory", -code, mayBeWritten)} : std::nullopt;
}

FenceResult<FenceState> FileWriter::load(int fence) {
  if (fence < 0) return names_.errorOf("opening the fence " + names_.whole(names_.fence), ENOENT);
  std::string text;
  if (const int code = files_.read(fence, text, longestState); code < 0) {
    return names_.errorOf("reading the fence", -code);
  }
  auto state = parseFenceState(text);
  if (!state) {
    return names_.corrupt("the fence " + names_.whole(names_.fence) +
                          " is damaged or was edited; restore it. If you delete it, the highest token is forgotten");
  }
  return *std::move(state);
}

/// Without a lock: the file that has the name is whole at any time.
FenceResult<FenceState> FileWriter::look() {
  const OpenFile directory{files_, files_.openDirectory(names_.directory)};
  if (directory.get() < 0) return names_.errorOf("opening its directory " + names_.directory, -directory.get());
  const OpenFile file{files_, files_.open(directory.get(), names_.fence, Files::Kind::beside)};
  if (file.get() < 0) return names_.errorOf("opening the fence " + names_.whole(names_.fence), -file.get());
  return load(file.get());
}

/// Finishes what an accepted write has left to do, and removes what a write that was not accepted has left.
FileWriter::Fault FileWriter::recover(const Held& held, const FenceState& state) {
  if (state.replaced) {
    // The write is accepted, but perhaps not renamed yet, or the rename is not durable. What follows depends on it.
    const std::string content = names_.replacement(state.sequence);
    const int code = files_.rename(held.directory, content, names_.content);
    if (code < 0 && code != -ENOENT)
      return names_.errorOf("putting the accepted content " + names_.whole(content) + " in place", -code);
    if (auto fault = syncDirectory(held, false)) return fault;
  }
  // Left by a writer that was killed; it may be as large as the free part of the disk. If it cannot be removed, the
  // content is still correct.
  (void)files_.remove(held.directory, names_.replacement(state.sequence + 1));
  const OpenFile file{files_, files_.open(held.directory, names_.content, Files::Kind::content)};
  if (file.get() == -ENOENT && state.length == 0) return std::nullopt;
  if (file.get() < 0) return names_.errorOf("opening it", -file.get());
  const std::int64_t size = files_.size(file.get());
  if (size < 0) return names_.errorOf("examining it", static_cast<int>(-size));
  if (static_cast<std::uint64_t>(size) < state.length) {
    return names_.corrupt("it has " + std::to_string(size) + " bytes, but " + std::to_string(state.length) +
                          " were accepted: another program cut or replaced it; restore it together with " +
                          names_.whole(names_.fence));
  }
  if (static_cast<std::uint64_t>(size) == state.length) return std::nullopt;
  const int code = files_.truncate(file.get(), state.length);
  return code < 0 ? Fault{names_.errorOf("cutting off what was never accepted", -code)} : std::nullopt;
}

FenceResult<std::optional<TermStamp>> FileWriter::seenIn(const FenceState& state, const std::string& lease) const {
  const auto known = state.leases.find(lease);
  if (known == state.leases.end()) return std::optional<TermStamp>{};
  const FencingToken token = known->second.token;
  if (token.isNone() || token > maxFencingToken)
    return damagedFence("file " + names_.whole(names_.fence), lease, toString(token));
  return std::optional{TermStamp{lease, token, known->second.holder}};
}

FenceResult<void> FileWriter::write(const TermStamp& stamp, const Write& step) {
  if (auto error = errorOf(stamp)) return *std::move(error);
  auto fault = lock_.during([&](const Held& held) -> Fault {
    auto state = load(held.fence);
    if (state.has_error()) return state.error();
    const auto seen = seenIn(*state, stamp.lease);
    if (seen.has_error()) return seen.error();
    if (auto error = termError(stamp, *seen)) return error;
    if (inside) inside();
    if (auto left = recover(held, *state)) return left;
    state->leases[stamp.lease] = {stamp.token, stamp.holder};
    return step(held, *state);
  });
  if (fault) return *std::move(fault);
  return {};
}

FenceResult<void> FileWriter::append(const TermStamp& stamp, std::string_view bytes) {
  return write(stamp, [&](const Held& held, FenceState& state) -> Fault {
    {
      const OpenFile there{files_, files_.open(held.directory, names_.content, Files::Kind::content)};
      const bool fresh = there.get() == -ENOENT;
      const OpenFile made{files_, fresh ? files_.open(held.directory, names_.content, Files::Kind::newContent) : -1};
      const OpenFile& file = fresh ? made : there;
      if (file.get() < 0) return names_.errorOf("opening it", -file.get());
      for (std::uint64_t done = 0; done < bytes.size();) {
        const std::int64_t written = files_.write(file.get(), state.length + done, bytes.substr(done));
        if (written <= 0) return names_.errorOf("writing to it", written == 0 ? EIO : static_cast<int>(-written));
        done += static_cast<std::uint64_t>(written);
      }
      if (const int code = files_.sync(file.get()); code < 0) return names_.errorOf("syncing it", -code);
      if (files_.isNamed(held.directory, names_.content, file.get()) != 1) {
        return names_.corrupt("another program removed or replaced it during the write; restore it together with " +
                              names_.whole(names_.fence));
      }
      // The fence must not count bytes of a file whose name a power failure could remove. A writer that was killed may
      // have made the file without syncing the directory.
      const bool mayBeNew = fresh || state.length == 0;
      if (auto fault = mayBeNew ? syncDirectory(held, false) : std::nullopt) return fault;
    }
    state.length += bytes.size();
    state.replaced = false;
    return commit(held, state);
  });
}

FenceResult<void> FileWriter::replace(const TermStamp& stamp, std::string_view bytes) {
  return write(stamp, [&](const Held& held, FenceState& state) -> Fault {
    ++state.sequence;
    state.length = bytes.size();
    state.replaced = true;
    const std::string content = names_.replacement(state.sequence);
    if (auto fault = fillContent(held, content, bytes)) return fault;
    // The fence must not name a content whose own name a power failure could remove.
    auto fault = syncDirectory(held, false);
    if (!fault) fault = prepare(held, state);
    if (fault) {
      (void)files_.remove(held.directory,
                          content);  // not after commitPrepared(): a rename that failed may have been carried out
      return fault;
    }
    if (auto doubt = commitPrepared(held)) return doubt;
    // From here on the write is accepted; otherwise the next writer would put the content in place.
    if (const int code = files_.rename(held.directory, content, names_.content); code < 0) {
      return names_.errorOf("putting the accepted content " + names_.whole(content) + " in place", -code, true);
    }
    return syncDirectory(held, true);
  });
}

FileWriter::Fault FileWriter::fillContent(const Held& held, const std::string& content, std::string_view bytes) {
  const OpenFile before{files_, files_.open(held.directory, names_.content, Files::Kind::content)};
  if (before.get() < 0 && before.get() != -ENOENT) return names_.errorOf("opening it", -before.get());
  const bool fresh = before.get() < 0;
  const Likeness like{fresh ? Files::Kind::newContent : Files::Kind::newBeside, before.get()};
  return fill(held, content, bytes, "the new content", like);
}

FileWriter::Fault FileWriter::makeState(const Held& held) {
  FenceState state;
  const OpenFile file{files_, files_.open(held.directory, names_.content, Files::Kind::content)};
  if (file.get() < 0 && file.get() != -ENOENT) return names_.errorOf("opening it", -file.get());
  if (file.get() >= 0) {
    const std::int64_t size = files_.size(file.get());
    if (size < 0) return names_.errorOf("examining it", static_cast<int>(-size));
    state.length = static_cast<std::uint64_t>(size);
  }
  return commit(held, state);
}

std::optional<FenceError> FileWriter::open() {
  return lock_.during([&](const Held& held) -> Fault {
    if (held.fence < 0) return makeState(held);
    auto state = load(held.fence);
    if (state.has_error()) return state.error();
    if (auto left = recover(held, *state)) return left;
    // A writer that was killed may have renamed the fence without syncing the directory.
    return syncDirectory(held, false);
  });
}

FenceResult<std::string> FileWriter::read() {
  std::string content;
  auto fault = lock_.during([&](const Held& held) -> Fault {
    const auto state = load(held.fence);
    if (state.has_error()) return state.error();
    if (auto left = recover(held, *state)) return left;
    const OpenFile file{files_, files_.open(held.directory, names_.content, Files::Kind::content)};
    if (file.get() == -ENOENT) return std::nullopt;
    if (file.get() < 0) return names_.errorOf("opening it", -file.get());
    const int code = files_.read(file.get(), content, state->length);
    return code < 0 ? Fault{names_.errorOf("reading it", -code)} : std::nullopt;
  });
  if (fault) return *std::move(fault);
  return content;
}

FenceResult<std::string> FileWriter::stored(const std::string& lease) {
  const auto state = look();
  if (state.has_error()) return FenceError{state.error()};
  const auto known = state->leases.find(lease);
  return known == state->leases.end() ? std::string{} : toString(known->second.token);
}

FenceResult<void> FileWriter::setMemory(const TermStamp& memory) {
  if (auto error = errorOf(memory)) return *std::move(error);
  auto fault = lock_.during([&](const Held& held) -> Fault {
    auto state = load(held.fence);
    if (state.has_error()) return state.error();
    if (auto left = recover(held, *state)) return left;
    state->leases[memory.lease] = {memory.token, memory.holder};
    return commit(held, *state);
  });
  if (fault) return *std::move(fault);
  return {};
}

FenceResult<std::optional<TermStamp>> FileWriter::highestSeen(const std::string& lease) {
  const auto state = look();
  if (state.has_error()) return FenceError{state.error()};
  return seenIn(*state, lease);
}

}  // namespace tenure::file_fence
