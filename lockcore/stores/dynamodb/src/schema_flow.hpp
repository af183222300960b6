// ensureSchema(): checks the table, creates it if it is missing, and waits until it can be used.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "core.hpp"
#include "errors.hpp"

namespace tenure::dynamodb_store {

class TableCheck;

/// One call. It lives until it is answered. Its steps run one after the other, on the client's and the scheduler's
/// threads.
class SchemaFlow : public std::enable_shared_from_this<SchemaFlow> {
 public:
  SchemaFlow(CorePtr core, std::shared_ptr<TableCheck> check, const Deadline& deadline, StatusHandler handler);
  void start() { describe(); }

 private:
  using Step = void (SchemaFlow::*)();
  using Next = void (SchemaFlow::*)(const ParsedReply&);

  void request(std::string_view operation, std::string body, std::string_view doing, Next next);
  void describe();
  void described(const ParsedReply& reply);
  void create();
  void created(const ParsedReply& reply);
  void waitThen(Step step, const std::string& forWhat);
  void configure();
  void recoveryEnabled(const ParsedReply& reply);
  void enableTtl();
  void ttlEnabled(const ParsedReply& reply);
  void lookAtTtl();
  void ttlDescribed(const ParsedReply& reply);
  void finish();
  void fail(StoreError error) { handler_(std::move(error)); }

  const CorePtr core_;
  const std::shared_ptr<TableCheck> check_;
  const Deadline deadline_;
  const StatusHandler handler_;
  bool isOurs_{false};  ///< this call created the table, so it also sets the table's further options
  std::chrono::nanoseconds pause_{std::chrono::milliseconds{250}};
  std::chrono::nanoseconds waited_{0};
};

}  // namespace tenure::dynamodb_store
