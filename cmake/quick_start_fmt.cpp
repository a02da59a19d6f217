// The fmt library compiled into a program: see weft_quick_start() in weft.cmake, which tries whether this fits the fmt that is installed.
#include <fmt/format-inl.h>

#include <locale>

template auto fmt::detail::dragonbox::to_decimal(float) noexcept -> fmt::detail::dragonbox::decimal_fp<float>;
template auto fmt::detail::dragonbox::to_decimal(double) noexcept -> fmt::detail::dragonbox::decimal_fp<double>;
template auto fmt::detail::locale_ref::get<std::locale>() const -> std::locale;
template auto fmt::detail::thousands_sep_impl(fmt::detail::locale_ref) -> fmt::detail::thousands_sep_result<char>;
template auto fmt::detail::decimal_point_impl(fmt::detail::locale_ref) -> char;
template void fmt::detail::buffer<char>::append(const char*, const char*);
template void fmt::detail::vformat_to(fmt::detail::buffer<char>&, fmt::string_view, fmt::format_args, fmt::detail::locale_ref);
