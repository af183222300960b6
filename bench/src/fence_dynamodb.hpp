// The writes that `fence` compares on DynamoDB.
#pragma once

#include <memory>
#include <string>

#include <tenure/lockcore/fence.hpp>

namespace tenure::bench {

/// Writes one item in a table of its own, through one client. The table ends with the object.
class DynamoDbWrites {
 public:
  DynamoDbWrites(const std::string& endpoint, TermStamp stamp);
  ~DynamoDbWrites();
  DynamoDbWrites(const DynamoDbWrites&) = delete;
  DynamoDbWrites& operator=(const DynamoDbWrites&) = delete;

  void barePut();
  /// A put with a condition on a number of the item, as in a program that checks a version: what any check costs.
  void conditionalPut();
  void fencedPut();
  void bareUpdate();
  void fencedUpdate();
  /// One put in a transaction.
  void bareTransaction();
  /// One put and the update of another item, as in a program that keeps a version beside its data.
  void transactionOfTwo();
  void fencedTransaction();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure::bench
