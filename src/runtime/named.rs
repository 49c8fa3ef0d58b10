//! Values with names: an enum, its names and their reading are declared in one place.

/// Declares an enum with a name for each variant, and its `ALL` and `name`. With `expected "…"`, it
/// also gets `Display` and `FromStr`; the error of an unknown name contains the expected words.
///
/// ```
/// divisi_runtime::named::named! {
///     /// A side of a street.
///     #[derive(Clone, Copy, Debug, PartialEq)]
///     pub enum Side, expected "left or right" {
///         /// The left side.
///         Left = "left",
///         /// The right side.
///         Right = "right",
///     }
/// }
/// assert_eq!(Side::Left.name(), "left");
/// assert_eq!("right".parse(), Ok(Side::Right));
/// ```
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* $vis:vis enum $type:ident {
        $($(#[$of:meta])* $variant:ident = $name:literal,)+
    }) => {
        $(#[$meta])*
        $vis enum $type {
            $($(#[$of])* $variant,)+
        }

        impl $type {
            /// Every value, in order.
            $vis const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Returns its name.
            $vis const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
    ($(#[$meta:meta])* $vis:vis enum $type:ident, expected $words:literal $variants:tt) => {
        $crate::named::named! { $(#[$meta])* $vis enum $type $variants }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::reading::ReadError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.into_iter().find(|value| value.name() == text);
                found.ok_or_else(|| {
                    $crate::reading::ReadError::expected($words, format_args!("`{text}`"))
                })
            }
        }
    };
}

pub use named;
