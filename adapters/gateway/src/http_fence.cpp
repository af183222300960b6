#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <utility>

#include <tenure/adapters/http_fence.hpp>
#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/lease_record.hpp>

#include "fence_claims.hpp"
#include "lease_gate.hpp"
#include "lockcore/runtime/process_mark.hpp"
#include "problems.hpp"
#include "token_memory.hpp"

namespace tenure {

using http_fence::LeaseGate;
using http_fence::problem;
using http_fence::TermMarks;
using http_fence::Ticket;
using http_fence::TokenFile;
using http_fence::TokenMemory;

namespace {

constexpr std::size_t mostLeases = 1'000;

/// A request with a body is a write, whatever its method: a service that does not expect a body may take it for a
/// request of its own.
bool onlyReads(const FencedRequest& request) {
  const bool hasBody = request.hasBody || (request.body != nullptr && !request.body->empty());
  return !hasBody && (request.method == "GET" || request.method == "HEAD" || request.method == "OPTIONS");
}

std::string quotedLease(const std::string& lease) { return '"' + toString(LeaseKey{lease}) + '"'; }

HttpProblem badHeader(const std::string& what) {
  return problem(400, "bad-header", "The Fencing-Token header is not understood", what);
}

}  // namespace

namespace {

HttpProblem inChild() {
  return problem(503, "not-now", "The fence is not here",
                 "this process is a forked child of the one that opened the fence; open one here");
}

}  // namespace

class FencePass::State {
 public:
  State(std::shared_ptr<HttpFence::Impl> owner, std::string of, Ticket number) noexcept
      : fence{std::move(owner)}, lease{std::move(of)}, ticket{number} {}

  std::shared_ptr<HttpFence::Impl> fence;
  std::string lease;
  Ticket ticket;
};

class HttpFence::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(HttpFenceOptions options, std::unique_ptr<TokenMemory> memory, Logger logger)
      : options_{std::move(options)}, memory_{std::move(memory)}, logger_{std::move(logger)} {
    const auto& known = memory_->found().highest;
    for (const std::string& lease : options_.leases) {
      const auto at = known.find(lease);
      const auto stored = at == known.end() ? std::nullopt : std::optional{at->second};
      gates_.emplace(lease, LeaseGate{stored, options_.maxWaiting});
    }
  }

  void start();
  [[nodiscard]] bool isHere() const noexcept { return mark_.isHere(); }
  [[nodiscard]] std::optional<HttpVerdict> admit(const FencedRequest& request, std::function<void(HttpVerdict)> later);
  [[nodiscard]] std::optional<HttpProblem> problemByHead(const FencedRequest& request) const;
  [[nodiscard]] std::optional<TermStamp> highestSeen(const std::string& lease) const;
  void end(const std::string& lease, Ticket ticket);
  void onOvertaken(const std::string& lease, Ticket ticket, std::function<void()> call);
  void close();

 private:
  struct Waiting {
    TermStamp stamp;
    std::function<void(HttpVerdict)> later;
  };
  /// The functions to call when the mutex is free again.
  using Calls = std::vector<std::function<void()>>;

  using Claimed = std::variant<FenceClaim, HttpProblem>;
  [[nodiscard]] Claimed claimOf(const FencedRequest& request) const;
  [[nodiscard]] Claimed provenClaimOf(const FencedRequest& request) const;
  [[nodiscard]] std::optional<HttpProblem> problemWithoutToken(const FencedRequest& request) const;
  [[nodiscard]] std::optional<HttpProblem> unsignedProblem(const FenceClaim& claim, const FencedRequest& request) const;
  void take(const std::string& lease, LeaseGate::Effects&& effects, Calls& calls);
  void refuse(const LeaseGate::Refused& refused, const std::optional<TermStamp>& seen, Calls& calls);
  void onWritten(const TermMarks& marks, const std::optional<FenceError>& error);
  void logError(const std::string& line);
  [[nodiscard]] FencePass passOf(const std::string& lease, Ticket ticket) {
    alive_.insert(ticket);
    return FencePass{std::make_unique<FencePass::State>(shared_from_this(), lease, ticket)};
  }

  const ProcessMark mark_{};
  const HttpFenceOptions options_;
  std::unique_ptr<TokenMemory> memory_;
  const Logger logger_;

  mutable std::mutex mutex_{};
  std::map<std::string, LeaseGate, std::less<>> gates_{};
  std::map<Ticket, Waiting> waiting_{};
  std::map<Ticket, std::function<void()>> overtakenCalls_{};
  std::set<Ticket> overtaken_{};  ///< passes that have no function to call yet, or whose function was called
  std::set<Ticket> alive_{};      ///< may be under way: passes, and what a killed fence may have let pass
  Ticket lastTicket_{0};
  std::optional<Instant> errorLoggedAt_{};
  std::uint64_t errorsNotLogged_{0};
  bool closed_{false};
};

void HttpFence::Impl::start() {
  std::vector<std::pair<std::string, Ticket>> supposed;
  const bool waits = options_.afterCrash.count() > 0;
  for (const auto& [lease, passed] : waits ? memory_->found().passed : TokenFile::Passed{}) {
    alive_.insert(++lastTicket_);
    supposed.emplace_back(lease, lastTicket_);
    // A lease that this fence does not have: a close before the wait is over must not call the memory clean.
    if (const auto gate = gates_.find(lease); gate != gates_.end()) gate->second.suppose(lastTicket_, passed);
  }
  if (!supposed.empty()) {
    logger_.log(
        LogLevel::warn,
        "the fence before this one was killed: requests that it had passed on may still be under way, so requests "
        "of later terms wait for " +
            std::to_string(options_.afterCrash.count()) + " ms");
  }
  memory_->start([this](const TermMarks& marks, const auto& error) { onWritten(marks, error); }, options_.afterCrash,
                 [this, supposed] {
                   for (const auto& [lease, ticket] : supposed) end(lease, ticket);
                 });
}

HttpFence::Impl::Claimed HttpFence::Impl::claimOf(const FencedRequest& request) const {
  if (request.tokenHeaders > 1) return badHeader("it comes more than once");
  const auto claims = parseFenceHeader(request.tokenHeader);
  if (!claims) return badHeader(claims.error().message);
  const FenceClaim* mine = nullptr;
  for (const FenceClaim& claim : *claims) {
    if (!gates_.contains(claim.stamp.lease)) continue;
    if (mine != nullptr) return badHeader("it names more than one lease of this service; send one of them");
    mine = &claim;
  }
  if (mine != nullptr) return *mine;
  return problem(403, "foreign-lease", "The token belongs to no lease of this service",
                 "this service is fenced by lease " + quotedLease(options_.leases.front()) +
                     (options_.leases.size() > 1 ? " and others, and the header names none of them"
                                                 : ", and the header does not name it"));
}

std::optional<HttpProblem> HttpFence::Impl::unsignedProblem(const FenceClaim& claim,
                                                            const FencedRequest& request) const {
  if (options_.keys.empty()) return std::nullopt;
  const auto refused = [](const char* detail) {
    return problem(403, "bad-signature", "The token is not signed as this service asks for", detail);
  };
  if (claim.signature.empty()) return refused("the header has no signature (parameters kid and sig)");
  if (!signatureHolds(claim, options_.keys,
                      {options_.audience, request.method, request.target, request.contentDigest})) {
    return refused("the signature does not fit the request, or its key is not known here");
  }
  const bool digested = request.body != nullptr && !(request.body->empty() && request.contentDigest.empty());
  if (digested && !digestHolds(request.contentDigest, *request.body)) {
    return refused("the body is not what Content-Digest says (sha-256)");
  }
  return std::nullopt;
}

HttpFence::Impl::Claimed HttpFence::Impl::provenClaimOf(const FencedRequest& request) const {
  Claimed claim = claimOf(request);
  const auto* mine = std::get_if<FenceClaim>(&claim);
  auto problem = mine == nullptr ? std::nullopt : unsignedProblem(*mine, request);
  if (problem) return *std::move(problem);
  return claim;
}

std::optional<HttpProblem> HttpFence::Impl::problemWithoutToken(const FencedRequest& request) const {
  const bool passes = options_.withoutToken == WithoutToken::pass ||
                      (options_.withoutToken == WithoutToken::refuseWrites && onlyReads(request));
  if (passes) return std::nullopt;
  return problem(428, "token-required", "The request needs a fencing token",
                 "send the header Fencing-Token with the lease and the token of your term; a request with a body needs "
                 "one whatever its method");
}

std::optional<HttpProblem> HttpFence::Impl::problemByHead(const FencedRequest& request) const {
  if (request.tokenHeaders == 0) return problemWithoutToken(request);
  Claimed claim = provenClaimOf(request);
  if (auto* problem = std::get_if<HttpProblem>(&claim)) return std::move(*problem);
  const TermStamp& mine = std::get<FenceClaim>(claim).stamp;
  const std::lock_guard lock{mutex_};
  const LeaseGate& gate = gates_.find(mine.lease)->second;
  if (const auto stale = gate.errorOf(mine)) {
    return http_fence::problemFor(*stale, mine, gate.highest(), options_.staleStatus);
  }
  return std::nullopt;
}

std::optional<HttpVerdict> HttpFence::Impl::admit(const FencedRequest& request,
                                                  std::function<void(HttpVerdict)> later) {
  if (request.tokenHeaders == 0) {
    if (auto problem = problemWithoutToken(request)) return *std::move(problem);
    return FencePass{};
  }
  const Claimed claim = provenClaimOf(request);
  if (const auto* problem = std::get_if<HttpProblem>(&claim)) return *problem;
  const FenceClaim& mine = std::get<FenceClaim>(claim);
  // Another fence may use the file that has the name now, and pass what it likes.
  if (const auto gone = memory_->replacedError()) {
    logError(gone->message);
    return http_fence::problemFor(fenceError(*gone), mine.stamp, highestSeen(mine.stamp.lease), options_.staleStatus);
  }

  Calls calls;
  std::optional<HttpVerdict> verdict;
  {
    const std::lock_guard lock{mutex_};
    if (closed_) return problem(503, "not-now", "The fence is closing", "send the request again");
    const Ticket ticket = ++lastTicket_;
    waiting_[ticket] = {mine.stamp, {}};
    LeaseGate& gate = gates_.find(mine.stamp.lease)->second;
    LeaseGate::Effects effects = gate.arrive(ticket, mine.stamp);
    // Our own answer is returned; the other requests get theirs by a call.
    const auto own = [&](const LeaseGate::Refused& one) { return one.ticket == ticket; };
    const auto refused = std::find_if(effects.refused.begin(), effects.refused.end(), own);
    if (refused != effects.refused.end()) {
      verdict = http_fence::problemFor(refused->error, mine.stamp, gate.highest(), options_.staleStatus);
      effects.refused.erase(refused);
      waiting_.erase(ticket);
    } else if (const auto passed = std::find(effects.passed.begin(), effects.passed.end(), ticket);
               passed != effects.passed.end()) {
      effects.passed.erase(passed);
      waiting_.erase(ticket);
      verdict = passOf(mine.stamp.lease, ticket);
    } else {
      waiting_[ticket].later = std::move(later);
    }
    take(mine.stamp.lease, std::move(effects), calls);
  }
  for (const auto& call : calls) call();
  return verdict;
}

void HttpFence::Impl::refuse(const LeaseGate::Refused& refused, const std::optional<TermStamp>& seen, Calls& calls) {
  const auto at = waiting_.find(refused.ticket);
  if (at == waiting_.end()) return;
  auto answer = http_fence::problemFor(refused.error, at->second.stamp, seen, options_.staleStatus);
  calls.emplace_back([later = std::move(at->second.later), answer = std::move(answer)] { later(answer); });
  waiting_.erase(at);
}

void HttpFence::Impl::take(const std::string& lease, LeaseGate::Effects&& effects, Calls& calls) {
  const LeaseGate& gate = gates_.find(lease)->second;
  if (effects.store) memory_->remember(*effects.store);
  for (const LeaseGate::Refused& one : effects.refused) refuse(one, gate.highest(), calls);
  for (const Ticket ticket : effects.passed) {
    const auto at = waiting_.find(ticket);
    if (at == waiting_.end()) continue;
    // std::function requires a copyable object.
    auto pass = std::make_shared<FencePass>(passOf(lease, ticket));
    calls.emplace_back([later = std::move(at->second.later), pass] { later(std::move(*pass)); });
    waiting_.erase(at);
  }
  for (const Ticket ticket : effects.overtaken) {
    overtaken_.insert(ticket);
    const auto at = overtakenCalls_.find(ticket);
    if (at == overtakenCalls_.end()) continue;
    calls.push_back(std::move(at->second));
    overtakenCalls_.erase(at);
  }
}

void HttpFence::Impl::onWritten(const TermMarks& marks, const std::optional<FenceError>& error) {
  const TermStamp& stamp = marks.seen;
  Calls calls;
  bool isNew = false;
  {
    const std::lock_guard lock{mutex_};
    LeaseGate& gate = gates_.find(stamp.lease)->second;
    isNew = gate.seen() != stamp;
    take(stamp.lease, error ? gate.notStored(marks, *error) : gate.stored(marks), calls);
  }
  const std::string term = "lease " + quotedLease(stamp.lease) + ": token " + toString(stamp.token);
  if (error) {
    logError(term + " could not be remembered: " + error->message);
  } else if (isNew) {
    logger_.log(LogLevel::info,
                term + (stamp.holder.empty() ? "" : " of " + toString(LeaseKey{stamp.holder})) + " is the highest now");
  }
  for (const auto& call : calls) call();
}

/// Anybody may send tokens, so the number of those that cannot be stored must not decide how much is logged.
void HttpFence::Impl::logError(const std::string& line) {
  constexpr std::chrono::seconds period{10};
  std::uint64_t untold = 0;
  {
    const std::lock_guard lock{mutex_};
    const Instant now = readClock();
    if (errorLoggedAt_ && elapsedForHolder(*errorLoggedAt_, now) < period) {
      ++errorsNotLogged_;
      return;
    }
    errorLoggedAt_ = now;
    untold = std::exchange(errorsNotLogged_, 0);
  }
  const std::string more = " (and " + std::to_string(untold) + " more since the last such line)";
  logger_.log(LogLevel::error, untold == 0 ? line : line + more);
}

void HttpFence::Impl::end(const std::string& lease, Ticket ticket) {
  Calls calls;
  {
    const std::lock_guard lock{mutex_};
    alive_.erase(ticket);
    overtaken_.erase(ticket);
    overtakenCalls_.erase(ticket);
    const auto gate = gates_.find(lease);
    if (gate != gates_.end()) take(lease, gate->second.end(ticket), calls);
  }
  for (const auto& call : calls) call();
}

void HttpFence::Impl::onOvertaken(const std::string& /*lease*/, Ticket ticket, std::function<void()> call) {
  {
    const std::lock_guard lock{mutex_};
    if (!overtaken_.contains(ticket)) {
      overtakenCalls_[ticket] = std::move(call);
      return;
    }
  }
  call();
}

std::optional<TermStamp> HttpFence::Impl::highestSeen(const std::string& lease) const {
  const std::lock_guard lock{mutex_};
  const auto gate = gates_.find(lease);
  return gate == gates_.end() ? std::nullopt : gate->second.highest();
}

/// The wait after a crash may not be over yet. Then the memory is not marked as clean, so the next fence waits too.
void HttpFence::Impl::close() {
  Calls calls;
  bool clean = false;
  {
    const std::lock_guard lock{mutex_};
    if (std::exchange(closed_, true)) return;
    clean = alive_.empty();
    for (auto& [ticket, waiting] : waiting_) {
      (void)gates_.find(waiting.stamp.lease)->second.leave(ticket);
      calls.emplace_back([later = std::move(waiting.later)] {
        later(problem(503, "not-now", "The fence is closing", "send the request again"));
      });
    }
    waiting_.clear();
  }
  for (const auto& call : calls) call();
  memory_->close(clean);
}

std::vector<std::string> faultsOf(const HttpFenceOptions& options) {
  std::vector<std::string> faults = faultsOf(options.keys);
  const auto add = [&](bool wrong, const std::string& text) {
    if (wrong) faults.push_back(text);
  };
  add(options.leases.empty(), "no lease is named");
  add(options.leases.size() > mostLeases, "more than 1,000 leases are named");
  for (const std::string& lease : options.leases) {
    for (const std::string& fault : faultsOf(LeaseKey{lease})) add(true, "lease " + quotedLease(lease) + ": " + fault);
    add(std::count(options.leases.begin(), options.leases.end(), lease) > 1,
        "lease " + quotedLease(lease) + " is named twice");
  }
  add(options.memory.empty(), "no file for the highest tokens is named");
  add(!options.keys.empty() && options.audience.empty(),
      "with keys the service needs a name (audience), which its "
      "clients sign");
  add(options.staleStatus != 409 && options.staleStatus != 412, "the status for former terms is 409 or 412");
  add(options.maxWaiting == 0, "at least one request must be able to wait");
  add(options.afterCrash.count() < 0 || options.afterCrash > std::chrono::hours{24},
      "the wait after a crash is negative or longer than a day");
  return faults;
}

StoreResult<std::unique_ptr<HttpFence>> HttpFence::open(HttpFenceOptions options, Logger logger) {
  if (const auto faults = faultsOf(options); !faults.empty()) {
    std::string all = "HttpFence: ";
    for (const std::string& fault : faults) all += (&fault == &faults.front() ? "" : "; ") + fault;
    throw std::invalid_argument{all};
  }
  auto memory = TokenMemory::open(options.memory);
  if (!memory) return memory.error();
  auto impl = std::make_shared<Impl>(std::move(options), std::move(*memory), std::move(logger));
  impl->start();
  return std::unique_ptr<HttpFence>{new HttpFence{std::move(impl)}};  // lint-allow(raw-new): private constructor
}

HttpFence::HttpFence(std::shared_ptr<Impl> impl) noexcept : impl_{std::move(impl)} {}
HttpFence::~HttpFence() { impl_->isHere() ? impl_->close() : leaveToParent(std::move(impl_)); }

std::optional<HttpVerdict> HttpFence::admit(const FencedRequest& request, std::function<void(HttpVerdict)> later) {
  auto* own = inItsProcess(impl_);
  return own != nullptr ? own->admit(request, std::move(later)) : std::optional<HttpVerdict>{inChild()};
}
std::optional<HttpProblem> HttpFence::problemByHead(const FencedRequest& request) const {
  FencedRequest head = request;
  head.body = nullptr;
  auto* own = inItsProcess(impl_);
  return own != nullptr ? own->problemByHead(head) : inChild();
}
std::optional<TermStamp> HttpFence::highestSeen(const std::string& lease) const {
  auto* own = inItsProcess(impl_);
  return own != nullptr ? own->highestSeen(lease) : std::nullopt;
}
void HttpFence::close() {
  if (auto* own = inItsProcess(impl_)) own->close();
}

FencePass::FencePass() noexcept = default;
FencePass::FencePass(std::unique_ptr<State> state) noexcept : state_{std::move(state)} {}
FencePass::~FencePass() {
  if (!state_) return;
  state_->fence->isHere() ? state_->fence->end(state_->lease, state_->ticket) : leaveToParent(std::move(state_->fence));
}
FencePass::FencePass(FencePass&&) noexcept = default;
FencePass& FencePass::operator=(FencePass&& other) noexcept {
  FencePass gone{std::move(other)};  // swapped, so that a move to itself changes nothing
  state_.swap(gone.state_);
  return *this;
}
void FencePass::onOvertaken(std::function<void()> call) const {
  auto* own = state_ ? inItsProcess(state_->fence) : nullptr;
  if (own != nullptr) own->onOvertaken(state_->lease, state_->ticket, std::move(call));
}

}  // namespace tenure
