
#include <tenure/election/elector_view.hpp>

#include "shards_board.hpp"

namespace tenure {

const std::string& ShardsView::group() const noexcept { return board_->group(); }
std::optional<std::vector<ElectorView>> ShardsView::tryElectors() const { return board_->tryElectors(); }
bool ShardsView::competes() const noexcept { return board_->competes(); }

}  // namespace tenure
