// LeaseStore::readTokens and setTokens, with which an operator corrects a lease's tokens.
#pragma once

#include "lease_call.hpp"

namespace tenure::dynamodb_store {

void readTokens(const CorePtr& core, const LeaseKey& key, const Deadline& deadline, TokensHandler handler);

/// One transaction on the condition that both items are as `expected`; `Applied` once a read shows what it set.
void setTokens(const LeaseCallPtr& call, const StoredTokens& expected, FencingToken token);

}  // namespace tenure::dynamodb_store
