#include <utility>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/random_source.hpp>

namespace tenure {

CandidateId CandidateId::make(std::string name, RandomSource& random) { return {std::move(name), hex128(random)}; }

std::string_view nameOf(std::string_view holderText) noexcept {
  const std::size_t at = holderText.rfind('#');
  return at == std::string_view::npos ? holderText : holderText.substr(0, at);
}

}  // namespace tenure
