#include <ostream>
#include <stdexcept>

#include <tenure/config/load_group.hpp>

namespace tenure {

std::string toString(const ConfigFault& fault) {
  std::string out = fault.file;
  if (fault.line > 0) out += ":" + std::to_string(fault.line);
  if (fault.line > 0 && fault.column > 0) out += ":" + std::to_string(fault.column);
  if (!out.empty()) out += ": ";
  if (!fault.key.empty()) out += fault.key + ": ";
  return out += fault.message;
}

std::ostream& operator<<(std::ostream& out, const ConfigFault& fault) { return out << toString(fault); }

std::string toString(const ConfigFaults& faults) {
  // A wrong file has hundreds of faults; the first lines, which show that it is the wrong file, must not scroll away.
  constexpr std::size_t mostShown = 20;
  std::string out;
  for (std::size_t i = 0; i < faults.size() && i < mostShown; ++i) {
    if (!out.empty()) out += '\n';
    out += toString(faults[i]);
  }
  if (faults.size() > mostShown) out += "\nand " + std::to_string(faults.size() - mostShown) + " more";
  return out;
}

void throw_exception_from_error(const ConfigFaults& faults, const boost::source_location& /*where*/) {
  throw std::runtime_error(toString(faults));
}

}  // namespace tenure
