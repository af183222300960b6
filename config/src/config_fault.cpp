#include <ostream>
#include <stdexcept>

#include <tenure/config/config_fault.hpp>

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
  std::string out;
  for (const ConfigFault& fault : faults) {
    if (!out.empty()) out += '\n';
    out += toString(fault);
  }
  return out;
}

void throw_exception_from_error(const ConfigFaults& faults, const boost::source_location& /*where*/) {
  throw std::runtime_error(toString(faults));
}

}  // namespace tenure
