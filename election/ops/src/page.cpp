#include "answers.hpp"

namespace tenure::ops {

std::string_view pageText() {
  return R"(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>tenure</title>
<h1>tenure</h1>
<ul>
<li><a href="/leader">/leader</a>: 200 if this process leads now
<li><a href="/status">/status</a>: what this process knows
<li><a href="/history">/history</a>: its last terms
<li><a href="/metrics">/metrics</a>: OpenMetrics
<li><a href="/readyz">/readyz</a>: 200 if it competes
<li><a href="/livez">/livez</a>: 200 unless its renewal thread stands still
</ul>
</html>
)";
}

}  // namespace tenure::ops
