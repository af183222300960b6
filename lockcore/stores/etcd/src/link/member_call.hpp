// A request that goes from member to member until one of them answers.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lockcore/stores/etcd/src/gateway.hpp"
#include "member_link.hpp"

namespace tenure::etcd_store {

/// Shared by the handlers of its copies. It may go on after an answer that says that it was not read.
class MemberCall : public std::enable_shared_from_this<MemberCall> {
 public:
  struct Ask {
    std::string path;
    std::string body;
    std::chrono::nanoseconds deadline;
    Gateway::Repeat repeat;
  };

  MemberCall(MemberLinkPtr members, Ask ask);

  /// Calls the handler once, on a thread of the gateway, never inside. `token`: empty for none.
  void send(std::string token, OutcomeHandler handler);
  /// The same after an answer that was a refusal because of the token: the member that answered is asked first again.
  void sendAgain(std::string token, OutcomeHandler handler);

  [[nodiscard]] std::chrono::nanoseconds deadline() const noexcept { return ask_.deadline; }
  [[nodiscard]] bool copiesOut() const noexcept { return copiesOut_; }

 private:
  void tryNext();
  [[nodiscard]] std::chrono::nanoseconds share() const;
  void judge(net::HttpOutcome outcome);
  void noAnswer(const net::HttpError& error);
  void unable(net::HttpResponse response);
  void foreign(const std::string& why);
  void giveUp();
  void note(const std::string& trouble, bool isConfiguration);
  [[nodiscard]] Reply replyOf(net::HttpResponse response) const;
  void answer(Outcome outcome);

  const MemberLinkPtr members_;
  const Ask ask_;
  const std::chrono::nanoseconds start_;
  std::string token_{};
  OutcomeHandler handler_{};
  std::vector<bool> tried_;
  std::size_t member_{0};
  bool copiesOut_{false};
  bool onlyConfiguration_{true};  ///< all that went wrong is a matter of certificates and endpoints
  std::string troubles_{};
  std::shared_ptr<Reply> unable_{};  ///< the last answer of a member that cannot serve
};

}  // namespace tenure::etcd_store
