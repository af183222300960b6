// The work of a leader, as it is to be tested: it is given a Leadership, and knows no elector.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <tenure/election/leadership.hpp>

namespace tested_job {

using Charge = std::function<void(tenure::FencingToken, const std::string& customer)>;

/// Charges one customer after the other, and looks before each whether it still may. Returns how many it charged.
inline std::size_t chargeAll(const tenure::Leadership& term, const std::vector<std::string>& customers,
                             const Charge& charge) {
  std::size_t done = 0;
  for (const std::string& customer : customers) {
    if (!term.leads()) break;
    charge(term.fencingToken(), customer);  // whoever takes the money refuses former terms by the token
    ++done;
  }
  return done;
}

}  // namespace tested_job
