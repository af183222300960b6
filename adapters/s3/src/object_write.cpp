#include "object_write.hpp"

#include <utility>

#include <tenure/lockcore/runtime.hpp>

#include "lockcore/port/random_draws.hpp"
#include "lockcore/port/store_checks.hpp"
#include "lockcore/runtime/system_random.hpp"

namespace tenure::s3_fence {
namespace {

using Kind = ObjectAnswer::Kind;

constexpr std::size_t longestKey = 1'024;  // of S3
constexpr std::size_t tokenDigits = 19;    // more than a token has, because objects of older releases have as many

std::string freshId() {
  SystemRandom random;
  return hex128(random);
}

std::string dataFolder(const std::string& key) { return key + ".tenure/"; }

/// Sorted by token, so that a listing shows what is left of former terms.
std::string dataKey(const TermStamp& stamp, const S3Put& what, const std::string& id) {
  if (what.form == S3Form::oneObject) return {};
  std::string token = toString(stamp.token);
  token.insert(0, tokenDigits - std::min(tokenDigits, token.size()), '0');
  return dataFolder(what.key) + token + '-' + id;
}

/// S3 answers every successful write with status 200, an ETag and no body; a proxy in front of it may answer anything
/// with 200.
bool provesWrite(const ObjectAnswer& answer) {
  return answer.status == 200 && isStrongEtag(answer.response.header("ETag")) && answer.response.body.empty();
}

}  // namespace
ObjectWrite::ObjectWrite(ObjectStore& store, const TermStamp& stamp, const S3Put& what, TermEnd over)
    : store_{store},
      stamp_{stamp},
      what_{what},
      over_{std::move(over)},
      id_{freshId()},
      data_{dataKey(stamp, what, id_)},
      time_{store.options().timeout} {}

FenceResult<void> ObjectWrite::run() {
  if (auto wrong = errorOf(stamp_)) return *std::move(wrong);
  if (auto wrong = misuse()) return *std::move(wrong);
  if (auto unfit = store_.errorOfServer(time_)) return *std::move(unfit);
  if (auto known = store_.lastWritten(what_.key)) {
    found_ = *std::move(known);
  } else if (auto failed = lookAgain()) {
    return *std::move(failed);
  }
  if (auto error = termError(stamp_, seenIn(found_.head, stamp_.lease))) {
    // The remembered object may be out of date. A rejection counts only if the other's term is still in the object.
    if (fresh_) return *std::move(error);
    if (auto failed = lookAgain()) return *std::move(failed);
  }
  if (auto failed = putData()) return *std::move(failed);
  auto result = swing();
  if (result.has_error() && !inDoubt_ && !data_.empty()) store_.forget(data_);
  return result;
}

ObjectWrite::Fault ObjectWrite::misuse() const {
  const auto wrong = [&](const std::string& text) {
    return fenceError({ErrorClass::misconfigured, store_.where(what_.key) + ": a fenced write: " + text});
  };
  if (what_.key.empty() || !isUtf8(what_.key)) return wrong("the key is empty or not UTF-8 text");
  if (what_.key.size() > longestKey || data_.size() > longestKey) {
    return wrong("the key is too long: at most 1,024 bytes are allowed, 964 for a pointer");
  }
  if (what_.key == store_.options().probeKey) return wrong("that key is the fence's own (probeKey)");
  if (what_.bytes.size() > store_.options().maxObject) {
    return wrong("the object is longer than maxObject, " + std::to_string(store_.options().maxObject) + " bytes");
  }
  return std::nullopt;
}

ObjectAnswer ObjectWrite::send(aws::ObjectRequest request) {
  ObjectAnswer answer = store_.ask(std::move(request), time_);
  if (answer.kind != Kind::done || provesWrite(answer)) return answer;
  const std::string text = store_.where(what_.key) +
                           ": the answer to the write is not S3's own, which has status 200, a "
                           "strong ETag and no body";
  return {Kind::again, answer.status, {}, {ErrorClass::transient, text}, true};
}

/// The bytes are written first, so a pointer never names bytes that do not exist. Their key is new, so repeating does
/// no harm.
ObjectWrite::Fault ObjectWrite::putData() {
  if (data_.empty()) return std::nullopt;
  for (;;) {
    if (auto ended = termEnd()) return ended;
    auto request = store_.putRequest(data_, what_.bytes);
    request.headers.front().value = what_.contentType;
    request.headers.push_back({"If-None-Match", "*"});  // for buckets whose policy demands conditions
    ObjectAnswer answer = send(std::move(request));
    if (answer.kind == Kind::done) return std::nullopt;
    if (answer.status == 412 && holdsData()) return std::nullopt;  // an earlier attempt was carried out
    const bool repeat = answer.kind == Kind::again || answer.kind == Kind::refused;
    if (repeat && time_.waitAfter(answer.error.errorClass)) continue;
    store_.forget(data_);
    return fenceError(std::move(answer.error));
  }
}

bool ObjectWrite::holdsData() {
  const ObjectAnswer there = store_.ask({"GET", store_.options().bucket, data_, {}, {}, {}}, time_);
  return there.kind == Kind::done && there.response.body == what_.bytes;
}

FenceResult<void> ObjectWrite::swing() {
  for (;;) {
    if (auto decided = judge()) return *std::move(decided);
    if (inside) inside();
    if (auto ended = termEnd()) return *std::move(ended);
    ObjectAnswer answer = put();
    if (answer.kind == Kind::done) {
      settled(std::string{answer.response.header("ETag")});
      return {};
    }
    if (answer.maybeDone) {
      inDoubt_ = true;
      doubtful_ = found_.etag;
    }
    store_.unremember(what_.key);
    const bool others = answer.kind == Kind::refused || answer.kind == Kind::absent;
    const bool goesOn =
        others ? time_.waitForOthers() : answer.kind == Kind::again && time_.waitAfter(answer.error.errorClass);
    if (!goesOn) return giveUp(std::move(answer.error));
    if (auto failed = lookAgain()) return *std::move(failed);
  }
}

std::optional<FenceResult<void>> ObjectWrite::judge() {
  const ObjectHead& head = found_.head;
  if (head.write == id_ || head.replaces == id_) {  // accepted, with a lost answer; it may have been replaced since
    inDoubt_ = false;
    if (head.write == id_) store_.remember(what_.key, {found_.etag, head, {}});
    return FenceResult<void>{};
  }
  if (auto error = termError(stamp_, seenIn(head, stamp_.lease))) return FenceResult<void>{*std::move(error)};
  if (inDoubt_ && found_.etag != doubtful_) {
    return FenceResult<void>{
        giveUp({ErrorClass::transient, store_.where(what_.key) + ": the answer to a write was lost, and others have "
                                                                 "written since; read back before you repeat it"})};
  }
  next_ = {id_, head.write, what_.bytes.size(), data_, termsWith(head.terms, stamp_)};
  if (toText(next_).size() > longestHead) {
    return FenceResult<void>{
        fenceError({ErrorClass::misconfigured, store_.where(what_.key) + ": it keeps the terms of too many leases"})};
  }
  return std::nullopt;
}

ObjectAnswer ObjectWrite::put() {
  std::string body = toText(next_);
  if (data_.empty()) body += what_.bytes;
  auto request = store_.putRequest(what_.key, std::move(body));
  if (!data_.empty()) request.headers.front().value = "application/json";
  if (found_.etag.empty()) {
    request.headers.push_back({"If-None-Match", "*"});
  } else {
    request.headers.push_back({"If-Match", found_.etag});
  }
  return send(std::move(request));
}

ObjectWrite::Fault ObjectWrite::termEnd() const {
  if (!over_) return std::nullopt;
  auto ended = over_();
  if (!ended || !inDoubt_) return ended;
  return fenceError({ErrorClass::transient, ended->message + " (it was repeated, and an earlier try is in doubt)"},
                    true);
}

ObjectWrite::Fault ObjectWrite::lookAgain() {
  fresh_ = true;
  auto found = store_.look(what_.key, false, time_);
  if (found) {
    found_ = *std::move(found);
    return std::nullopt;
  }
  FenceError error = found.error();
  if (!inDoubt_ || error.writeError() == nullptr) return error;
  return giveUp(error.writeError()->error);
}

void ObjectWrite::settled(std::string etag) {
  const std::string old = std::exchange(found_.head, next_).data;
  found_.etag = std::move(etag);
  inDoubt_ = false;
  store_.remember(what_.key, found_);
  // A head that was copied from another key names bytes that belong to that key, so we must not delete them.
  if (old.starts_with(dataFolder(what_.key))) store_.forget(old);
}

}  // namespace tenure::s3_fence
