// A request that goes from member to member until one of them gives a result.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lockcore/stores/etcd/src/errors.hpp"
#include "lockcore/stores/etcd/src/gateway.hpp"
#include "member_link.hpp"

namespace tenure::etcd_store {

/// Shared by the handlers of its copies. What it believes:
/// - A result (status 200) that names the cluster is the answer. One of another cluster, or that names none, never is.
/// - An error names no cluster. It may be that of one member alone (it lags, its token's key is another one), of a
///   member of another cluster, or of what stands in a member's place. The others are asked. If none of them has a
///   result, an error of etcd's is the answer.
/// - Anything else, whatever its status, proves nothing: neither that the request was refused nor that it was not
///   passed on. After it the request is repeated only if it may be, and counts as carried out perhaps.
class MemberCall : public std::enable_shared_from_this<MemberCall> {
 public:
  struct Ask {
    std::string path;
    std::string body;
    std::chrono::nanoseconds deadline;
    Gateway::Repeat repeat;
  };

  MemberCall(MemberLinkPtr members, Ask ask);

  /// Whether an error says that the request was not looked at because of its token. Then the others need not be asked.
  using RefusesToken = std::function<bool(int status, const std::string& body)>;

  /// Calls the handler once, on a thread of the gateway, never inside. `token`: empty for none.
  void send(std::string token, RefusesToken refusesToken, OutcomeHandler handler);
  /// The same with a new token, after an answer for which `refusesToken` was true: the member that gave it is asked
  /// first again.
  void sendAgain(std::string token, OutcomeHandler handler);

  [[nodiscard]] std::chrono::nanoseconds deadline() const noexcept { return ask_.deadline; }
  [[nodiscard]] bool copiesOut() const noexcept { return copiesOut_; }

 private:
  void tryNext();
  [[nodiscard]] std::chrono::nanoseconds share() const;
  void judge(net::HttpOutcome outcome);
  void noAnswer(const net::HttpError& error);
  void noResult(net::HttpResponse response);
  void notBelieved(const std::string& why, bool namesCluster);
  void giveUp();
  void note(const std::string& error, bool isConfiguration);
  [[nodiscard]] Reply replyOf(net::HttpResponse response) const;
  void answer(Outcome outcome);

  const MemberLinkPtr members_;
  const Ask ask_;
  const std::chrono::nanoseconds start_;
  std::string token_{};
  RefusesToken refusesToken_{};
  OutcomeHandler handler_{};
  std::vector<bool> tried_;
  std::size_t member_{0};
  bool copiesOut_{false};
  bool onlyConfiguration_{true};  ///< all that went wrong is a matter of certificates and endpoints
  bool allAnswered_{true};
  std::string errors_{};
  /// What is told if there is no result: the better it is known to be etcd's and to pass, the higher.
  enum class Rank { none, strange, refused, unable };
  Rank rank_{Rank::none};
  std::shared_ptr<Reply> best_{};
};

}  // namespace tenure::etcd_store
